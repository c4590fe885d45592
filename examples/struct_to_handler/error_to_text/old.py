"""Tells the model of a tool's error instead of ending the run: a struct middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator

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


def subject(_: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""
    return [AgentMiddleware(wrap_tool_call=ToolMiddleware(invokable, streamable))]


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
