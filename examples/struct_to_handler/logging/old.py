"""Logs what model and tools do: a struct middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator

from refengine import (
    AgentMiddleware,
    ChatModelAgentState,
    Context,
    Endpoint,
    Json,
    StreamEndpoint,
    StreamReader,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
    ToolMiddleware,
)
from refengine.testing import World


def subject(world: World) -> list[AgentMiddleware]:
    """Return the struct middleware of one session."""
    log = Log(world)
    return [
        AgentMiddleware(
            before_chat_model=log.asked,
            after_chat_model=log.answered,
            wrap_tool_call=ToolMiddleware(log.invokable, log.streamable),
        )
    ]


class Log:
    """Callbacks that log requests, answers, and how tool calls end."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lines = 0

    def asked(self, _: Context, state: ChatModelAgentState) -> None:
        """Log a request."""
        messages = len(state.messages)
        self._log(model="asked", messages=messages)

    def answered(self, _: Context, state: ChatModelAgentState) -> None:
        """Log an answer."""
        calls = [call.name for each in state.messages[-1:] for call in each.tool_calls]
        self._log(model="answered", calls=calls)

    def invokable(self, inner: Endpoint) -> Endpoint:
        """Wrap a tool whose result comes in one piece."""

        async def call(ctx: Context, input: ToolCallInput) -> ToolCallResult:
            start = self._world.now()
            try:
                result = await inner(ctx, input)
            except Exception as error:
                self._failed(input, error)
                raise
            self._ended(input, start, len(result.result))
            return result

        return call

    def streamable(self, inner: StreamEndpoint) -> StreamEndpoint:
        """Wrap a tool whose result comes in chunks; its call ends with them."""

        async def call(ctx: Context, input: ToolCallInput) -> StreamToolCallResult:
            start = self._world.now()
            try:
                opened = await inner(ctx, input)
            except Exception as error:
                self._failed(input, error)
                raise
            opened.result = StreamReader(self._through(input, start, opened.result))
            return opened

        return call

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
