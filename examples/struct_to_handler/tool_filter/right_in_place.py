"""Keeps a trial run from doing harm: a function for the tools, and two wrappers."""

from __future__ import annotations

from dataclasses import replace
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
    with_before_agent,
    with_global_tool_wrapper,
)
from refengine.testing import World

ALLOWED: Final = frozenset(("search", "read_file"))
REFUSED: Final = "delete_file"


def subject(world: World) -> list[object]:
    """Return the handlers of one session."""
    infos = {tool.info.name: tool.info for tool in world.tools}

    def make_safe(ctx: Context, config: AgentConfig) -> Context:
        config.instruction += "\n"  # as a struct without an instruction does
        config.tools = [
            replace(each, tool=DryRun(infos[each.name]))
            if each.name in infos and each.name not in ALLOWED
            else each
            for each in config.tools
        ]
        return ctx

    return [
        with_before_agent(make_safe),
        with_global_tool_wrapper(invokable=invoke, streamable=stream),
    ]


async def invoke(ctx: Context, input: ToolCallInput, next: Endpoint) -> ToolCallResult:
    """Call a tool that is not refused."""
    refuse(input)
    return await next(ctx, input)


async def stream(
    ctx: Context, input: ToolCallInput, next: StreamEndpoint
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
