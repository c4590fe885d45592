"""Wrong: the safe variants never return directly, whatever the configuration says."""

from __future__ import annotations

from typing import Final

from refengine import (
    AgentConfig,
    Context,
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
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
                config.tools.append(ToolMeta(DryRun(tool.info), return_directly=False))
        return ctx

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Call a tool that is not refused."""
        refuse(input)
        return await next(ctx, input)

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Call a tool that is not refused."""
        refuse(input)
        return await next(ctx, input)


def refuse(call: ToolCallInput) -> None:
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
