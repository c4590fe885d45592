"""Keeps a trial run from doing harm: a struct middleware, which cannot remove tools.

All tools but the allowed ones get a safe variant of the same name: the last one counts.
One stays as it is for the model, and a call of it ends the run.
"""

from __future__ import annotations

from typing import Final

from refengine import (
    AgentMiddleware,
    Context,
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolInfo,
    ToolMiddleware,
)
from refengine.testing import World

ALLOWED: Final = frozenset(("search", "read_file"))
REFUSED: Final = "delete_file"


def subject(world: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""
    return [
        AgentMiddleware(
            additional_tools=[
                DryRun(tool.info)
                for tool in world.tools
                if tool.info.name not in ALLOWED
            ],
            wrap_tool_call=ToolMiddleware(invokable, streamable),
        )
    ]


def invokable(inner: Endpoint) -> Endpoint:
    """Wrap a tool whose result comes in one piece."""

    async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
        refuse(input)
        return await inner(ctx, input)

    return call


def streamable(inner: StreamEndpoint) -> StreamEndpoint:
    """Wrap a tool whose result comes in chunks."""

    async def call(ctx: Context, input: ToolCallInput) -> StreamToolCallResult:
        refuse(input)
        return await inner(ctx, input)

    return call


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
