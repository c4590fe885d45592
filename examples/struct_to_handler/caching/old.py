"""Keeps the results of tools, the volatile ones aside: a struct middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from refengine import (
    AgentMiddleware,
    Context,
    Endpoint,
    StreamEndpoint,
    StreamReader,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolMiddleware,
)
from refengine.testing import World

VOLATILE: Final = frozenset(("get_time", "send_mail"))
"""Tools that are called every time."""


def subject(_: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""
    results: dict[tuple[str, str], str] = {}

    def invokable(inner: Endpoint) -> Endpoint:
        async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
            if input.name in VOLATILE:
                return await inner(ctx, input)
            key = input.name, input.arguments
            if key not in results:
                results[key] = (await inner(ctx, input)).result
            return ToolCallResult(results[key])

        return call

    def streamable(inner: StreamEndpoint) -> StreamEndpoint:
        async def call(ctx: Context, input: ToolCallInput) -> StreamToolCallResult:
            if input.name in VOLATILE:
                return await inner(ctx, input)
            key = input.name, input.arguments
            if key not in results:
                opened = await inner(ctx, input)
                results[key] = "".join([chunk async for chunk in opened.result])
            return StreamToolCallResult(StreamReader(one(results[key])))

        return call

    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable, streamable))]


async def one(text: str) -> AsyncIterator[str]:
    """Yield one chunk."""
    yield text
