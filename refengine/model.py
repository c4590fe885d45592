"""The chat model: one call, plain or streamed.

A model has one or both of ``invoke`` and ``stream``; the one that is missing is made
from the other (decided in contract §2). Tools are an argument of every call, there is
no bind step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeGuard, cast, runtime_checkable

from refengine.context import Context
from refengine.errors import ModelAnswerError, ToolKindError
from refengine.messages import Message, MessageChunk, chunk_of, join_chunks
from refengine.stream import StreamReader
from refengine.tools import Options, ToolInfo, no_options

MessageStream: TypeAlias = "StreamReader[MessageChunk]"
Invoke: TypeAlias = Callable[
    [Context, Sequence[Message], Sequence[ToolInfo], Options], Awaitable[Message]
]
Stream: TypeAlias = Callable[
    [Context, Sequence[Message], Sequence[ToolInfo], Options], Awaitable[MessageStream]
]


@runtime_checkable
class InvokableModel(Protocol):
    """A model that answers in one piece."""

    async def invoke(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        """Return the whole answer."""
        ...


@runtime_checkable
class StreamableModel(Protocol):
    """A model that answers in chunks."""

    async def stream(
        self,
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> MessageStream:
        """Return the answer as a stream that is read once."""
        ...


ChatModel: TypeAlias = InvokableModel | StreamableModel


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call as a wrapper sees it; changes are for this call only.

    ``streaming`` is the run's mode and told, not asked: changing it changes nothing.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolInfo]
    options: Options = field(default_factory=no_options)
    streaming: bool = False


def invoker(model: ChatModel) -> Invoke:
    """Return how to invoke the model; raises ToolKindError if it has no method."""
    if _is_invokable(model):
        return model.invoke
    stream = _stream_of(model)

    async def invoke(
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> Message:
        reader = streamed(await stream(ctx, messages, tools, options))
        try:
            return join_chunks([chunk async for chunk in reader])
        finally:
            await reader.aclose()

    return invoke


def streamer(model: ChatModel) -> Stream:
    """Return how to stream the model; raises ToolKindError if it has no method."""
    if _is_streamable(model):
        return model.stream
    invoke = invoker(model)

    async def stream(
        ctx: Context,
        messages: Sequence[Message],
        tools: Sequence[ToolInfo],
        options: Options,
    ) -> MessageStream:
        answer = whole(await invoke(ctx, messages, tools, options))
        return StreamReader(_one(chunk_of(answer)))

    return stream


def whole(answer: object) -> Message:
    """Return what a model answered in one piece; raises ModelAnswerError."""
    if not isinstance(answer, Message):
        raise ModelAnswerError(answer, "a Message")
    return answer


def streamed(answer: object) -> MessageStream:
    """Return what a model answered as a stream; raises ModelAnswerError."""
    if not isinstance(answer, StreamReader):
        raise ModelAnswerError(answer, "a StreamReader of MessageChunk")
    return cast("MessageStream", answer)


# As isinstance of the protocols, which before Python 3.12 takes as long as a third of a
# build.


def _is_invokable(model: object) -> TypeGuard[InvokableModel]:
    return getattr(model, "invoke", None) is not None


def _is_streamable(model: object) -> TypeGuard[StreamableModel]:
    return getattr(model, "stream", None) is not None


def _stream_of(model: object) -> Stream:
    if not _is_streamable(model):
        raise ToolKindError(f"model {type(model).__name__}")
    return cast("Stream", model.stream)


async def _one(chunk: MessageChunk) -> AsyncIterator[MessageChunk]:
    yield chunk
