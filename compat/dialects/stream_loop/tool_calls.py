"""Tools: the engine's, called one by one, and what they gave made a result of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from compat.dialects.stream_loop.errors import (
    LoopToolMissingError,
    ToolCancelledError,
    ToolOutputError,
    ToolTimedOutError,
)
from compat.dialects.stream_loop.results import ToolOutput, ToolResult
from refengine.context import Context, at_point
from refengine.messages import ToolCall
from refengine.tools import NO_OPTIONS, Tool, ToolMeta, as_meta, normalise


def tools_by_name(tools: Sequence[Tool | ToolMeta]) -> Mapping[str, Tool]:
    """Return the tools by name, the last of two; raises for what cannot be called."""
    return {each.name: each.tool for each in normalise(map(as_meta, tools))}


async def called(call: ToolCall, tools: Mapping[str, Tool]) -> ToolResult:
    """Call a tool; raises what it raises, LoopToolMissingError or ToolOutputError."""
    if call.name not in tools:
        raise LoopToolMissingError(call.name, tuple(tools))
    tool: Any = tools[call.name]
    ctx = at_point(Context(), (), call.id, None)
    if getattr(tool, "invoke", None) is not None:
        given = await tool.invoke(ctx, call.arguments, NO_OPTIONS)
    else:
        given = await _read(await tool.stream(ctx, call.arguments, NO_OPTIONS))
    return _result(call, given)


async def _read(stream: Any) -> str:  # noqa: ANN401  # whatever the tool gave
    try:
        return "".join([each async for each in stream])
    finally:
        await stream.aclose()


def _result(call: ToolCall, given: object) -> ToolResult:
    if isinstance(given, str):
        return ToolResult(call_id=call.id, name=call.name, result=given)
    if not isinstance(given, ToolOutput):
        raise ToolOutputError(call.name, given)
    return ToolResult(
        call_id=call.id,
        name=call.name,
        result=given.result,
        requires_follow_up=given.requires_follow_up,
    )


async def limited(
    attempt: Awaitable[ToolResult], name: str, seconds: float | None
) -> ToolResult:
    """Await an attempt for that long; raises ToolTimedOutError, or what it raised."""
    window = asyncio.timeout(seconds)
    try:
        async with window:
            return await attempt
    except TimeoutError as error:
        if not window.expired() or seconds is None:
            raise
        raise ToolTimedOutError(name, seconds) from error


async def outcome(
    task: asyncio.Task[ToolResult], call: ToolCall
) -> ToolResult | Exception:
    """Wait for a task; a cancellation from inside it is an error like another."""
    await asyncio.wait(
        (task,)
    )  # unlike await task, only our own cancellation comes out
    if task.cancelled():
        return ToolCancelledError(call.name)
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, Exception):
        return error
    raise error
