"""Logs what model and tools do: a handler for the model, and a helper for tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import count

from refengine import (
    AgentConfig,
    Context,
    Endpoint,
    Message,
    StreamEndpoint,
    StreamReader,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    with_global_tool_wrapper,
)
from refengine.testing import World


def subject(world: World) -> list[object]:
    """Return the handlers of one session, which number their lines together."""
    numbers = count(1)

    def log(**what: object) -> None:
        world.effect("log", {"line": next(numbers), **what})

    tools = ToolLog(log, world.now)
    wrapper = with_global_tool_wrapper(invokable=tools.invoked, streamable=tools.opened)
    return [ModelLog(log), wrapper]


class ModelLog:
    """Logs requests and answers."""

    name = "model_log"

    def __init__(self, log: Callable[..., None]) -> None:
        self._log = log

    def before_agent(self, ctx: Context, config: AgentConfig) -> Context:
        """Leave the newline that a struct without an instruction leaves."""
        config.instruction += "\n"
        return ctx

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Log a request."""
        self._log(model="asked", messages=len(messages))
        return ctx, messages

    async def after_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> tuple[Context, Sequence[Message]]:
        """Log an answer."""
        calls = messages[-1].tool_calls if messages else ()
        self._log(model="answered", calls=[call.name for call in calls])
        return ctx, messages


class ToolLog:
    """Logs how tool calls end."""

    def __init__(self, log: Callable[..., None], now: Callable[[], float]) -> None:
        self._log = log
        self._now = now

    async def invoked(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Log a result in one piece."""
        start = self._now()
        with self._failures(input):
            result = await next(ctx, input)
        self._ended(input, start, len(result.result))
        return result

    async def opened(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Log a result in chunks, when the last one was read."""
        start = self._now()
        with self._failures(input):
            opened = await next(ctx, input)
        reader = StreamReader(self._read(input, start, opened.result))
        return StreamToolCallResult(reader)

    async def _read(
        self, call: ToolCallInput, start: float, reader: StreamReader[str]
    ) -> AsyncIterator[str]:
        lengths: list[int] = []
        with self._failures(call):
            async for chunk in reader:
                lengths.append(len(chunk))
                yield chunk
        self._ended(call, start, sum(lengths))

    def _ended(self, call: ToolCallInput, start: float, characters: int) -> None:
        seconds = round(self._now() - start, 3)
        self._log(tool=call.name, seconds=seconds, characters=characters)

    @contextmanager
    def _failures(self, call: ToolCallInput) -> Generator[None]:
        try:
            yield
        except Exception as error:
            self._log(tool=call.name, failed=str(error))
            raise
