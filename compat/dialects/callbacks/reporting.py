"""The handler by which a session's run on the engine becomes facts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias, final

from refengine.context import Context
from refengine.hooks import ModelEndpoint, Rewritten
from refengine.messages import Message, MessageChunk, ToolCall
from refengine.model import MessageStream, ModelRequest, streamed
from refengine.stream import StreamReader
from refengine.tools import (
    Endpoint,
    StreamEndpoint,
    StreamToolCallResult,
    ToolCallInput,
    ToolCallResult,
)

Emit: TypeAlias = "Callable[..., Awaitable[Any]]"

HANDLER: Final = "callbacks"
"""What the engine calls it."""


@final
class Reporting:
    """Tells the facts of one session; it changes nothing.

    ``raised`` is what a callback raised: the engine wraps what comes out of a handler,
    and a callback's exception has to come out as it is.
    """

    def __init__(self, emit: Emit) -> None:
        self.name = HANDLER
        self.raised: Exception | None = None
        self.steps = 0
        self._emit = emit

    async def before_model_rewrite_history(
        self, ctx: Context, messages: Sequence[Message]
    ) -> Rewritten:
        """Tell a step before its model call; steps count from 1."""
        self.steps += 1
        await self._tell("on_agent_step", self.steps, messages)
        return ctx, messages

    async def wrap_model_call(
        self, ctx: Context, request: ModelRequest, next: ModelEndpoint
    ) -> MessageStream:
        """Tell the answer's text while it is read."""
        return StreamReader(self._answer(streamed(await next(ctx, request))))

    async def wrap_invokable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: Endpoint
    ) -> ToolCallResult:
        """Tell the start and the end of a tool."""
        await self._started(input)
        try:
            given = await next(ctx, input)
        except Exception as error:
            await self._ended(input, None, error)
            raise
        await self._ended(input, given.result, None)
        return given

    async def wrap_streamable_tool_call(
        self, ctx: Context, input: ToolCallInput, next: StreamEndpoint
    ) -> StreamToolCallResult:
        """Tell the start of a tool, and its end when its result has been read."""
        await self._started(input)
        try:
            given = await next(ctx, input)
        except Exception as error:
            await self._ended(input, None, error)
            raise
        return StreamToolCallResult(StreamReader(self._pieces(input, given.result)))

    async def _answer(self, stream: MessageStream) -> AsyncIterator[MessageChunk]:
        texts: list[str] = []
        try:
            async for chunk in stream:
                if chunk.content:
                    texts.append(chunk.content)
                    await self._tell("on_llm_text_delta", chunk.content)
                yield chunk
            if texts:
                await self._tell("on_llm_text_done", "".join(texts))
        finally:
            await stream.aclose()

    async def _pieces(
        self, input: ToolCallInput, stream: StreamReader[str]
    ) -> AsyncIterator[str]:
        pieces: list[str] = []
        try:
            async for each in stream:
                pieces.append(each)
                yield each
        except Exception as error:
            await self._ended(input, None, error)
            raise
        finally:
            await stream.aclose()
        await self._ended(input, "".join(pieces), None)

    async def _started(self, input: ToolCallInput) -> None:
        call = ToolCall(input.call_id, input.name, input.arguments)
        await self._tell("on_tool_call_start", call)

    async def _ended(
        self, input: ToolCallInput, result: str | None, error: Exception | None
    ) -> None:
        name = "on_tool_execution_end"
        await self._tell(name, input.name, input.call_id, result, error)

    async def _tell(self, name: str, *data: object) -> None:
        try:
            await self._emit(name, *data)
        except Exception as error:
            self.raised = self.raised or error
            raise
