"""Tells the model of a tool's error: the old wrapper, handed to a helper."""

from __future__ import annotations

from collections.abc import AsyncIterator

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


def subject(_: World) -> list[object]:
    """Return the handler of one session."""
    return [
        with_instruction_func(newline),
        with_global_tool_wrapper(ToolMiddleware(invokable, streamable)),
    ]


def newline(ctx: Context, instruction: str) -> tuple[Context, str]:
    """Leave the newline that a struct without an instruction leaves."""
    return ctx, f"{instruction}\n"


def invokable(inner: Endpoint) -> Endpoint:
    """Wrap a tool whose result comes in one piece."""

    async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
        try:
            return await inner(ctx, input)
        except Exception as error:  # noqa: BLE001  # the model is told
            return ToolCallResult(told(error))

    return call


def streamable(inner: StreamEndpoint) -> StreamEndpoint:
    """Wrap a tool whose result comes in chunks."""

    async def call(ctx: Context, input: ToolCallInput) -> StreamToolCallResult:
        try:
            opened = await inner(ctx, input)
        except Exception as error:  # noqa: BLE001  # the model is told
            return StreamToolCallResult(StreamReader(one(told(error))))
        return StreamToolCallResult(StreamReader(until_error(opened.result)))

    return call


async def until_error(reader: StreamReader[str]) -> AsyncIterator[str]:
    """Yield the chunks, and an error as the last one."""
    try:
        async for chunk in reader:
            yield chunk
    except Exception as error:  # noqa: BLE001  # the model is told
        yield told(error)


async def one(text: str) -> AsyncIterator[str]:
    """Yield one chunk."""
    yield text


def told(error: Exception) -> str:
    """Return what the model is told."""
    return f"The tool failed: {error}"
