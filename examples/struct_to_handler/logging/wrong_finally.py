"""Wrong: where a tool failed, the line about its result fails too, and hides why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from refengine import (
    AgentConfig,
    Context,
    Endpoint,
    Json,
    Message,
    StreamEndpoint,
    StreamReader,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
)
from refengine.testing import World


def subject(world: World) -> list[Logging]:
    """Return the handler of one session."""
    return [Logging(world)]


class Logging:
    """Logs requests, answers, and how tool calls end."""

    name = "logging"

    def __init__(self, world: World) -> None:
        self._world = world
        self._lines = 0

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Log a request."""
        self._log(model="asked", messages=len(messages))
        return ctx, messages

    def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Log an answer."""
        calls = [call.name for each in messages[-1:] for call in each.tool_calls]
        self._log(model="answered", calls=calls)
        return ctx, messages

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Log how a call ends."""
        start = self._world.now()
        try:
            result = await next(ctx, input)
        except Exception as error:
            self._failed(input, error)
            raise
        finally:
            self._ended(input, start, len(result.result))  # pyright: ignore[reportPossiblyUnboundVariable]  # that is the mistake
        return result  # pyright: ignore[reportPossiblyUnboundVariable]  # as above

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Log how a call ends, which is when its stream ends."""
        start = self._world.now()
        try:
            opened = await next(ctx, input)
        except Exception as error:
            self._failed(input, error)
            raise
        opened.result = StreamReader(self._through(input, start, opened.result))
        return opened

    async def _through(
        self, call: ToolCallInput, start: float, reader: StreamReader[str]
    ) -> AsyncIterator[str]:
        characters = 0
        try:
            async for chunk in reader:
                characters += len(chunk)
                yield chunk
        except Exception as error:
            self._failed(call, error)
            raise
        self._ended(call, start, characters)

    def _failed(self, call: ToolCallInput, error: Exception) -> None:
        self._log(tool=call.name, failed=str(error))

    def _ended(self, call: ToolCallInput, start: float, characters: int) -> None:
        seconds = round(self._world.now() - start, 3)
        self._log(tool=call.name, seconds=seconds, characters=characters)

    def _log(self, **what: Json) -> None:
        self._lines += 1
        self._world.effect("log", {"line": self._lines, **what})
