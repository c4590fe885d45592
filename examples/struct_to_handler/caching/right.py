"""Keeps the results of tools, the volatile ones aside: a handler."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from refengine import (
    AgentConfig,
    Context,
    Endpoint,
    StreamEndpoint,
    StreamReader,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
)
from refengine.testing import World

VOLATILE: Final = frozenset(("get_time", "send_mail"))
"""Tools that are called every time."""


def subject(_: World) -> list[Caching]:
    """Return the handler of one session."""
    return [Caching()]


class Caching:
    """Runs a tool once for each text of its arguments."""

    name = "caching"

    def __init__(self) -> None:
        self._results: dict[tuple[str, str], str] = {}

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Return the result that is kept, or call the tool and keep it."""
        if input.name in VOLATILE:
            return await next(ctx, input)
        key = input.name, input.arguments
        if key not in self._results:
            self._results[key] = (await next(ctx, input)).result
        return ToolCallResult(self._results[key])

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Return the result that is kept, or call the tool and keep it."""
        if input.name in VOLATILE:
            return await next(ctx, input)
        key = input.name, input.arguments
        if key not in self._results:
            opened = await next(ctx, input)
            self._results[key] = "".join([chunk async for chunk in opened.result])
        return StreamToolCallResult(StreamReader(one(self._results[key])))


async def one(text: str) -> AsyncIterator[str]:
    """Yield one chunk."""
    yield text
