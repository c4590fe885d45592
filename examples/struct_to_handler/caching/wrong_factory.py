"""Wrong: a factory keeps the results, and the helper calls it in every call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from refengine import (
    Context,
    Endpoint,
    StreamEndpoint,
    StreamReader,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolMiddleware,
    with_global_tool_wrapper,
    with_instruction_func,
)
from refengine.testing import World

VOLATILE: Final = frozenset(("get_time", "send_mail"))
"""Tools that are called every time."""


def subject(_: World) -> list[object]:
    """Return the handler of one session."""

    def invokable(inner: Endpoint) -> Endpoint:
        results: dict[tuple[str, str], str] = {}

        async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
            if input.name in VOLATILE:
                return await inner(ctx, input)
            key = input.name, input.arguments
            if key not in results:
                results[key] = (await inner(ctx, input)).result
            return ToolCallResult(results[key])

        return call

    def streamable(inner: StreamEndpoint) -> StreamEndpoint:
        results: dict[tuple[str, str], str] = {}

        async def call(ctx: Context, input: ToolCallInput) -> StreamToolCallResult:
            if input.name in VOLATILE:
                return await inner(ctx, input)
            key = input.name, input.arguments
            if key not in results:
                opened = await inner(ctx, input)
                results[key] = "".join([chunk async for chunk in opened.result])
            return StreamToolCallResult(StreamReader(one(results[key])))

        return call

    return [
        with_instruction_func(newline),
        with_global_tool_wrapper(ToolMiddleware(invokable, streamable)),
    ]


def newline(ctx: Context, instruction: str) -> tuple[Context, str]:
    """Leave the newline that a struct without an instruction leaves."""
    return ctx, f"{instruction}\n"


async def one(text: str) -> AsyncIterator[str]:
    """Yield one chunk."""
    yield text
