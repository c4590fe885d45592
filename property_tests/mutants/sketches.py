"""What the seeds sketch: their own code as it stands there, fault by fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from compat.adapters import AdaptedMiddleware, adapt
from property_tests.mutants.doors import (
    Adapt,
    Arrange,
    Hooked,
    remade,
)
from refengine.agent import ChatModelAgentConfig
from refengine.awaiting import settled
from refengine.context import Context
from refengine.hooks import AgentConfig, AnyHook
from refengine.profile import Profile, choosing
from refengine.struct_middleware import AgentMiddleware
from refengine.tools import ToolCallInput, ToolInfo, ToolMeta

Fold: TypeAlias = Callable[[list[ToolMeta], list[ToolMeta]], list[ToolMeta]]


def under(posture: str, option: str) -> Adapt:
    """Return the adapter that takes one posture for another."""
    return lambda structs, profile: adapt(structs, choosing(profile, posture, option))


def each_remade(
    change: Callable[[AdaptedMiddleware, Profile], Hooked],
) -> Adapt:
    """Return the adapter whose handlers are changed one by one."""

    def adapter(structs: Sequence[AgentMiddleware], profile: Profile) -> list[Hooked]:
        return [change(each, profile) for each in adapt(structs, profile)]

    return adapter


def flag_cleared(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Set the flag of the struct's tools to false."""
    right = handler.before_agent

    def before_agent(ctx: Context, config: AgentConfig) -> Context:
        before = len(config.tools)
        if right is not None:
            right(ctx, config)
        config.tools = [
            meta if at < before else replace(meta, return_directly=False)
            for at, meta in enumerate(config.tools)
        ]
        return ctx

    return remade(handler, before_agent=before_agent)


def factory_a_call(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Call the factory anew in every call."""
    wrap = handler.struct.wrap_tool_call

    def wrapper(make: AnyHook | None) -> AnyHook | None:
        async def call(ctx: Context, input: ToolCallInput, next: AnyHook) -> object:
            outer = next if make is None else make(next)
            return await outer(ctx, input)

        return None if make is None else call

    hooks = {f"wrap_{kind}_tool_call" for kind in ("invokable", "streamable")}
    made = remade(
        handler,
        bind_tool=None,
        wrap_invokable_tool_call=wrapper(wrap.invokable),
        wrap_streamable_tool_call=wrapper(wrap.streamable),
    )
    named = dict.fromkeys(hooks & made.hooks, "wrap_tool_call")
    made.legacy_hooks = {**(made.legacy_hooks or {}), **named}
    return made


def one_name(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Give all structs one name and no fields."""
    made = remade(handler)
    made.name, made.legacy_hooks = "legacy-middleware", None
    return made


def stream_of_results(handler: AdaptedMiddleware, _: Profile) -> Hooked:
    """Return the stream where its holder is asked for."""
    right = handler.bind_tool
    if right is None:
        return remade(handler)

    def bind_tool(info: ToolInfo, endpoint: AnyHook, kind: str) -> AnyHook:
        outer: AnyHook = right(info, endpoint, kind)

        async def call(ctx: Context, input: ToolCallInput) -> object:
            return (await outer(ctx, input)).result

        return outer if kind == "invokable" or outer is endpoint else call

    return remade(handler, bind_tool=bind_tool)


def merging(fold: Fold) -> Arrange:
    """Return the arrangement after each of whose handlers the tools are folded so."""

    def arrange(config: ChatModelAgentConfig, _: Profile) -> ChatModelAgentConfig:
        handlers = [_merged(handler, fold) for handler in config.handlers]
        return replace(config, handlers=handlers)

    return arrange


def _merged(handler: object, fold: Fold) -> object:
    hooks = {hook: getattr(handler, hook) for hook in getattr(handler, "hooks", ())}
    right = hooks.get("before_agent")
    if right is None:
        return handler

    async def before_agent(ctx: Context, config: AgentConfig) -> Context:
        before = list(config.tools)
        left: Context = await settled(right(ctx, config))
        config.tools = fold(before, config.tools)
        return left

    hooks["before_agent"] = before_agent
    return Hooked(str(getattr(handler, "name", "")), hooks)


def as_map(before: list[ToolMeta], left: list[ToolMeta]) -> list[ToolMeta]:
    """Write what was left into a map of what was there."""
    return list({meta.name: meta for meta in [*before, *left]}.values())


def unordered(_: list[ToolMeta], left: list[ToolMeta]) -> list[ToolMeta]:
    """Forget the order, as a map of Go does."""
    return sorted(left, key=lambda meta: meta.name)
