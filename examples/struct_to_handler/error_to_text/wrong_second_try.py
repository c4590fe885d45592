"""Wrong: a tool that failed runs once more before the model is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

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


def subject(_: World) -> list[ErrorToText]:
    """Return the handler of one session."""
    return [ErrorToText()]


class ErrorToText:
    """Makes a tool's error its result, also where a stream ends in one."""

    name = "error_to_text"

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Return the result, or what went wrong."""
        with suppress(Exception):
            return await next(ctx, input)
        try:
            return await next(ctx, input)
        except Exception as error:  # noqa: BLE001  # the model is told
            return ToolCallResult(told(error))

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Return the chunks, and what went wrong behind them."""
        try:
            opened = await next(ctx, input)
        except Exception as error:  # noqa: BLE001  # the model is told
            return StreamToolCallResult(StreamReader(one(told(error))))
        return StreamToolCallResult(StreamReader(until_error(opened.result)))


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
