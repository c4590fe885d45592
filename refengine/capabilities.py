"""Capability objects as handlers (seed 000 P0.1): one small interface a concern.

Each capability method becomes the pipeline hook it stands for. Wrapper capabilities
have the names of hooks already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from refengine.awaiting import settled
from refengine.context import Context
from refengine.hooks import CAPABILITY_HOOKS, CAPABILITY_REWRITES, AnyHook
from refengine.messages import Message

if TYPE_CHECKING:
    from refengine.plan import AgentConfig


def as_hooks(found: dict[str, AnyHook]) -> dict[str, AnyHook]:
    """Return the hooks with every capability method turned into the one it means."""
    if CAPABILITY_HOOKS.isdisjoint(found):
        return found
    hooks = {name: hook for name, hook in found.items() if name not in CAPABILITY_HOOKS}
    instruction = found.get("modify_instruction")
    tools = found.get("modify_tools")
    if instruction is not None or tools is not None:
        hooks["before_agent"] = _before_agent(instruction, tools)
    for method, hook in CAPABILITY_REWRITES.items():
        if method in found:
            hooks[hook] = _rewrite(found[method])
    return hooks


def _before_agent(instruction: AnyHook | None, tools: AnyHook | None) -> AnyHook:
    async def before_agent(ctx: Context, config: AgentConfig) -> Context:
        if instruction is not None:
            config.instruction = await settled(instruction(ctx, config.instruction))
        if tools is not None:
            config.tools = await settled(tools(ctx, config.tools))
        return ctx

    return before_agent


def _rewrite(method: AnyHook) -> AnyHook:
    async def rewrite(
        ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        return ctx, await settled(method(ctx, messages))

    return rewrite
