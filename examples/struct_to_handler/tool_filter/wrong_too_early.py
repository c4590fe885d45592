"""Wrong: refuses when the model asks, so the calls beside that one do not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refengine import (
    AgentConfig,
    Context,
    Message,
    ToolCall,
    ToolInfo,
    ToolMeta,
)
from refengine.testing import World

ALLOWED: Final = frozenset(("search", "read_file"))
REFUSED: Final = "delete_file"


def subject(world: World) -> list[ToolFilter]:
    """Return the handler of one session."""
    return [ToolFilter(world)]


class ToolFilter:
    """Puts safe variants in the place of tools, and refuses calls of one."""

    name = "tool_filter"

    def __init__(self, world: World) -> None:
        self._tools = world.tools

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Add the safe variants; of equal names the last one counts.

        The newline is what a struct without an instruction leaves.
        """
        config.instruction += "\n"
        for tool in self._tools:
            if tool.info.name not in ALLOWED:
                config.tools.append(ToolMeta(DryRun(tool.info)))
        return ctx

    def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Look at the calls of an answer."""
        for call in messages[-1].tool_calls if messages else ():
            refuse(call)
        return ctx, messages


def refuse(call: ToolCall) -> None:
    """Raise PermissionError if the tool may not even be tried."""
    if call.name == REFUSED:
        raise PermissionError(f"{call.name} is not allowed here")


class DryRun:
    """A tool that looks like another one and tells what that would be given."""

    def __init__(self, info: ToolInfo) -> None:
        self.info = info

    async def invoke(self, _ctx: Context, arguments: str, _options: object) -> str:
        """Return the arguments."""
        return f"would run with {arguments}"
