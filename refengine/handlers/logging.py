"""Logging of model and tool calls.

The logging example of seed 001 §5.2 reads the result of a call that may have failed,
and so replaces the tool's error by its own. Here an error is logged where it is caught
and goes on as it is; nothing is read in a ``finally``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from logging import DEBUG, INFO, Logger
from typing import TypeVar

from refengine.context import Context
from refengine.errors import HandlerArgumentError
from refengine.hooks import ModelEndpoint
from refengine.messages import Message
from refengine.model import MessageStream, ModelRequest
from refengine.stream import StreamReader
from refengine.tools import (
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
)

T = TypeVar("T")


class LoggingHandler:
    """Logs when a model or tool call starts, ends, fails or is cancelled.

    A stream ends when it was read to its end. Arguments and results are private to the
    user, so they are logged at DEBUG only; ``level`` is for all else but failures,
    which are errors.
    """

    __slots__ = ("_level", "_logger", "name")

    def __init__(self, logger: Logger, *, level: int = INFO) -> None:
        if not isinstance(logger, Logger):
            raise HandlerArgumentError("LoggingHandler", logger, "a logging.Logger")
        self.name: str = "logging"
        self._logger = logger
        self._level = level

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> Message | MessageStream:
        """Log a model call."""
        what = f"model ({len(request.messages)} messages, {len(request.tools)} tools)"
        self._say(what, "starts")
        with self._failures(what):
            answer = await next(ctx, request)
        if isinstance(answer, StreamReader):
            return StreamReader(self._through(what, answer))
        self._say(what, "ended")
        return answer

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Log a tool call."""
        what = self._called(input)
        with self._failures(what):
            result = await next(ctx, input)
        self._say(what, "ended")
        self._logger.log(DEBUG, "%s result: %s", what, result.result)
        return result

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Log a tool call, and its end when the stream ends."""
        what = self._called(input)
        with self._failures(what):
            opened = await next(ctx, input)
        return StreamToolCallResult(StreamReader(self._through(what, opened.result)))

    def _called(self, call: ToolCallInput) -> str:
        what = f"tool {call.name} (call {call.call_id})"
        self._say(what, "starts")
        self._logger.log(DEBUG, "%s arguments: %s", what, call.arguments)
        return what

    def _say(self, what: str, event: str) -> None:
        self._logger.log(self._level, "%s %s", what, event)

    async def _through(self, what: str, reader: StreamReader[T]) -> AsyncIterator[T]:
        with self._failures(what):
            async for chunk in reader:
                yield chunk
        self._say(what, "ended")

    @contextmanager
    def _failures(self, what: str) -> Generator[None]:
        try:
            yield
        except Exception as error:
            self._logger.error("%s failed: %s: %s", what, type(error).__name__, error)  # noqa: TRY400  # who handles it shows the trace
            raise
        except BaseException:
            self._say(what, "was broken off")
            raise
