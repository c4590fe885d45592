"""Parts of an engine that are wrong about streams, made of the right ones (STR)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

from refengine.context import Context
from refengine.events import AgentEvent
from refengine.extensions import Extensions
from refengine.loop import Loop
from refengine.messages import Message, MessageChunk, chunk_of, join_chunks
from refengine.model_calls import ModelCall
from refengine.shared_stream import SharedStream
from refengine.stream import StreamReader
from refengine.tool_calls import ToolCallRun
from refengine.tool_onion import BoundTool, ToolLayer


def always_invoked(right: Callable[..., Any]) -> Callable[..., Any]:
    """Invoke every tool that can be invoked."""

    def made(self: BoundTool, _: bool) -> object:
        return right(self, streaming=False)

    return made


def streams_if_it_can(right: Callable[..., Any]) -> Callable[..., Any]:
    """Stream every tool that can be streamed."""

    def made(self: BoundTool, _: bool) -> object:
        return right(self, streaming=True)

    return made


def joins_early(right: Callable[..., None]) -> Callable[..., None]:
    """Make an invokable tool of a streamable one, by joining what it streams."""

    def made(self: Any, meta: Any, invokable: Any, stream: Any) -> None:  # noqa: ANN401  # parts of the engine
        right(self, meta, invokable, stream)
        if self.invoke is None:
            self.invoke = _joining(self.stream)
            self._streamable = None
            self._invokable = invokable.bind(self.info)

    return made


def _joining(stream: Callable[..., Any]) -> Callable[..., Any]:
    async def invoke(*given: object) -> str:
        return "".join([chunk async for chunk in await stream(*given)])

    return invoke


def unwrapped(right: Callable[..., list[ToolLayer]]) -> Callable[..., list[ToolLayer]]:
    """Leave out the last layer around streams."""

    def made(self: Extensions, kind: Any, config: Any) -> list[ToolLayer]:  # noqa: ANN401  # parts of the engine
        found = right(self, kind, config)
        return found[:-1] if kind == "streamable" else found

    return made


def invoked_model(_: Callable[..., Any]) -> Callable[..., Any]:
    """Invoke the model in a streaming run too, and call the answer a chunk."""

    def streamer(model: Any) -> Callable[..., Any]:  # noqa: ANN401  # any model
        async def stream(*given: object) -> StreamReader[MessageChunk]:
            return _of(chunk_of(await model.invoke(*given)))

        return stream

    return streamer


def _of(*chunks: Any) -> StreamReader[Any]:  # noqa: ANN401  # of texts or of messages
    async def given() -> AsyncIterator[Any]:
        for chunk in chunks:
            yield chunk

    return StreamReader(given())


def merged_answer(right: Callable[..., Any]) -> Callable[..., Any]:
    """Wait for the whole answer and show it as one chunk."""

    async def made(self: Loop, ctx: Context) -> AgentEvent:
        event: AgentEvent = await right(self, ctx)
        live_: Any = self.live  # a part of the engine
        try:
            whole = join_chunks(await live_.drain())
        except Exception:  # noqa: BLE001  # the run raises it
            return event
        return AgentEvent("model", event.run_path, stream=_of(chunk_of(whole)))

    return made


def merged_result(right: Callable[..., AgentEvent]) -> Callable[..., AgentEvent]:
    """Show a result that is all there as one chunk."""

    def made(self: ToolCallRun, call_id: str) -> AgentEvent:
        event = right(self, call_id)
        live_: Any = self.live  # a part of the engine
        if live_ is None:
            return event
        path = event.run_path
        stream = StreamReader(_whole(live_))
        return AgentEvent("tool", path, call_id=call_id, stream=stream)

    return made


async def _whole(live_: Any) -> AsyncIterator[Any]:  # noqa: ANN401  # a SharedStream
    yield "".join([chunk async for chunk in live_.reader()])


def left_open(right: Callable[..., Any]) -> Callable[..., Any]:
    """Stop at the first chunk, and keep the source."""
    kept: list[object] = []

    async def made(self: Any, have: int) -> None:  # noqa: ANN401  # a SharedStream
        await right(self, have)
        self._ended = True
        kept.append(self._source)

    return made


def never_closes(_: Callable[..., Any]) -> Callable[..., Any]:
    """Close nothing."""

    async def made(_: SharedStream[Any]) -> None:
        return None

    return made


def _quiet_end(right: Callable[..., Any]) -> Callable[..., Any]:
    """Let a stream that breaks off end, for the consumer, as if it were whole."""

    async def made(self: Any) -> AsyncIterator[Any]:  # noqa: ANN401  # a SharedStream
        try:
            async for chunk in right(self):
                yield chunk
        except Exception:  # noqa: BLE001  # which the run still raises
            return

    return made


def quiet_in(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Quieten the streams of answers, or those of results."""

    def replaced(right: Callable[..., Any]) -> Callable[..., Any]:
        quiet = _quiet_end(right)

        def made(self: Any) -> AsyncIterator[Any]:  # noqa: ANN401  # a SharedStream
            of_tool = self.scope.tool is not None
            chosen = quiet if of_tool == (kind == "tool") else right
            left: AsyncIterator[Any] = chosen(self)
            return left

        return made

    return replaced


def first_and_last(right: Callable[..., Message]) -> Callable[..., Message]:
    """Join the first and the last chunk of an answer."""

    def made(chunks: Sequence[MessageChunk]) -> Message:
        return right([*chunks[:1], *chunks[1:][-1:]])

    return made


def last_text(right: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the last chunk of a result alone."""

    async def made(self: ToolCallRun) -> None:
        await right(self)
        live_ = self.live  # a part of the engine
        if live_ is not None and self.error is None:
            self.text = live_.chunks[-1] if live_.chunks else ""

    return made


def without_tools(right: Callable[..., ModelCall]) -> Callable[..., ModelCall]:
    """Tell the model of no tools in a streaming run."""

    def made(self: Any) -> ModelCall:  # noqa: ANN401  # a Loop
        found: Any = right(self)
        if self.streaming:
            found._request = replace(found._request, tools=())  # noqa: SLF001  # a part of the engine
        left: ModelCall = found
        return left

    return made


def fewer_calls(right: Callable[..., Any]) -> Callable[..., Any]:
    """Give tools no arguments in a streaming run."""

    async def made(self: Any, ctx: Context, streaming: bool) -> None:  # noqa: ANN401  # as the right one
        if streaming:
            self.input.arguments = ""
        await right(self, ctx, streaming)

    return made


def no_answer(right: Callable[..., Any]) -> Callable[..., Any]:
    """Forget the answer of a streaming run."""

    def made(self: Any, response: Message) -> object:  # noqa: ANN401  # a Loop
        calls = right(self, response)
        if self.streaming:
            self.answer = None
        return calls

    return made


def no_event_of(right: Callable[..., Any]) -> Callable[..., Any]:
    """Show of a streamed answer its text and not its calls."""

    def made(self: Any) -> AsyncIterator[Any]:  # noqa: ANN401  # a SharedStream
        return _texts(right(self))

    return made


async def _texts(chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for chunk in chunks:
        yield (
            replace(chunk, tool_calls=()) if isinstance(chunk, MessageChunk) else chunk
        )


def stripped(right: Callable[..., Message]) -> Callable[..., Message]:
    """Strip each chunk of an answer that comes in many before joining them."""

    def made(chunks: Sequence[MessageChunk]) -> Message:
        if len(chunks) < 3:  # few enough to look right in most tests
            return right(chunks)
        return right([replace(each, content=each.content.strip()) for each in chunks])

    return made


def stripped_events(right: Callable[..., Any]) -> Callable[..., Any]:
    """Show the consumer no chunk that is a space alone or ends on one."""

    def made(self: Any) -> AsyncIterator[Any]:  # noqa: ANN401  # a SharedStream
        return _spaceless(right(self))

    return made


async def _spaceless(chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for chunk in chunks:
        if isinstance(chunk, MessageChunk):
            yield replace(chunk, content=chunk.content.rstrip())
        else:
            yield chunk
