"""Engines that hold streams back, cut them anew, or join them wrongly (STR)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Final, TypeAlias

from property_tests.mutants.engines.events import each_event
from property_tests.mutants.models import ChangedModel, models
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.events import AgentEvent
from refengine.messages import Message, MessageChunk, ToolCallChunk
from refengine.stream import StreamReader
from refengine.tools import StreamToolCallResult, ToolCallInput

Chunks: TypeAlias = AsyncIterator[Given]  # of texts or of messages
AS_IT_COMES: Final = "A stream is handed on as it comes."


def _answers_at_their_end(right: Right) -> Right:
    """Hand an answer on when it is complete, chunk by chunk."""

    async def open_answer(self: Given, ctx: Context) -> Given:
        event = await right(self, ctx)
        if event is None:
            return None
        with suppress(Exception):  # who reads it meets it
            await self.live.drain()
        return event

    return open_answer


def _results_at_their_end(right: Right) -> Right:
    """Hand a result on when it is complete, chunk by chunk."""

    async def opened(self: Given, ctx: Context, streaming: bool) -> None:
        await right(self, ctx, streaming)
        if self.live is not None:
            with suppress(Exception):  # who reads it meets it
                await self.live.drain()

    return opened


def _shown(change: Callable[[Chunks], Chunks], kind: str) -> Patch:
    """Show the consumer other chunks of answers, or of results."""

    def replaced(right: Right) -> Right:
        def reader(self: Given) -> Given:
            of = "model" if self.scope.tool is None else "tool"
            found = right(self)
            return StreamReader(change(found)) if of == kind else found

        return reader

    return patch("stream.reader", replaced)


async def _one_behind(chunks: Chunks) -> Chunks:
    """Hold each chunk until the next one is there."""
    held: list[Given] = []
    async for chunk in chunks:
        if held:
            yield held.pop()
        held.append(chunk)
    for chunk in held:
        yield chunk


def _over_when_empty(model: Given) -> ChangedModel:
    """Let a stream be over at a chunk that holds nothing."""
    return ChangedModel(model, read=lambda chunks: StreamReader(_until_empty(chunks)))


async def _until_empty(chunks: StreamReader[MessageChunk]) -> Chunks:
    async with aclosing(chunks):
        async for chunk in chunks:
            yield chunk
            if not (chunk.content or chunk.tool_calls or chunk.extra):
                return


async def _without_repeats(chunks: Chunks) -> Chunks:
    """Leave out a chunk that is equal to the one before it."""
    before: Given = None
    async for chunk in chunks:
        if chunk != before:
            yield chunk
        before = chunk


def _wrapped_whole(right: Right) -> Right:
    """Give the wrappers of a streamed tool its stream when it is complete."""

    async def stream_tool(ctx: Context, value: ToolCallInput) -> Given:
        result = await right(ctx, value)
        chunks = [chunk async for chunk in result.result]

        async def given() -> Chunks:
            for chunk in chunks:
                yield chunk

        return StreamToolCallResult(StreamReader(given()))

    return stream_tool


def _joined_as(
    change: Callable[[Sequence[MessageChunk]], Sequence[MessageChunk]],
    whole: Callable[[Message], Message] = lambda message: message,
) -> Patch:
    """Join other chunks than came, or make another message of them."""

    def replaced(right: Right) -> Right:
        def join_chunks(chunks: Sequence[MessageChunk]) -> Message:
            return whole(right(change(list(chunks))))

        return join_chunks

    return patch("loop.join_chunks", replaced)


def _same(chunks: Sequence[MessageChunk]) -> Sequence[MessageChunk]:
    return chunks


def _pieces(
    change: Callable[[ToolCallChunk], ToolCallChunk],
) -> Callable[[Sequence[MessageChunk]], Sequence[MessageChunk]]:
    def changed(chunks: Sequence[MessageChunk]) -> Sequence[MessageChunk]:
        return [
            replace(each, tool_calls=tuple(map(change, each.tool_calls)))
            for each in chunks
        ]

    return changed


def _one_call(piece: ToolCallChunk) -> ToolCallChunk:
    return replace(piece, index=0) if piece.index is None else piece


def _first_extra(chunks: Sequence[MessageChunk]) -> Sequence[MessageChunk]:
    """Keep extra values as they came first."""
    had: set[str] = set()
    found: list[MessageChunk] = []
    for chunk in chunks:
        new = {key: each for key, each in chunk.extra.items() if key not in had}
        had.update(new)
        found.append(replace(chunk, extra=new))
    return found


def _in_order_of_ids(message: Message) -> Message:
    calls = sorted(message.tool_calls, key=lambda call: call.id)
    return replace(message, tool_calls=tuple(calls))


def _with_arguments(message: Message) -> Message:
    """Give calls whose arguments came empty an empty object."""
    calls = [
        each if each.arguments else replace(each, arguments="{}")
        for each in message.tool_calls
    ]
    return replace(message, tool_calls=tuple(calls))


def _text_or_calls(message: Message) -> Message:
    """Keep of a message that calls tools no text."""
    return replace(message, content="") if message.tool_calls else message


def _closed_when_told(event: AgentEvent) -> list[AgentEvent]:
    """Tell the result of a streamed call as a whole one, when it is complete."""
    if event.kind != "tool" or event.stream is None:
        return [event]
    again = AgentEvent(
        "tool",
        event.run_path,
        None,
        event.call_id,
        stream=StreamReader(_texts(event.stream)),
    )
    return [again]


async def _texts(chunks: Chunks) -> Chunks:
    """Give the chunks of a result stripped of what is not text."""
    async for chunk in chunks:
        if chunk.strip():
            yield chunk


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "empty-chunk-ends-a-stream",
        "A streamed answer is over at a chunk that holds nothing.",
        "STR-005",
        models(_over_when_empty),
    ),
    broken(
        "answers-at-their-end",
        "The consumer gets a streamed answer chunk by chunk, when it is complete.",
        "STR-024",
        patch("loop.open_answer", _answers_at_their_end),
        says=AS_IT_COMES,
    ),
    broken(
        "results-at-their-end",
        "The consumer gets a streamed result chunk by chunk, when it is complete.",
        "STR-025",
        patch("call.open", _results_at_their_end),
        says=AS_IT_COMES,
    ),
    broken(
        "results-one-chunk-behind",
        "The consumer gets each chunk of a result when the next one is there.",
        "STR-006",
        _shown(_one_behind, "tool"),
        says=AS_IT_COMES,
    ),
    broken(
        "wrappers-of-whole-streams",
        "Wrappers of a streamed tool get its stream when it is complete.",
        "STR-025",
        patch("tool.stream", _wrapped_whole),
        says=AS_IT_COMES,
    ),
    broken(
        "repeated-chunks-lost",
        "The consumer misses a chunk of an answer that equals the one before it.",
        "STR-005",
        _shown(_without_repeats, "model"),
    ),
    broken(
        "blank-result-chunks-lost",
        "The consumer misses chunks of a result that are white space alone.",
        "STR-006",
        each_event(_closed_when_told),
    ),
    broken(
        "calls-without-index-joined",
        "Calls that a stream brings whole are joined to one.",
        "STR-010 STR-015",
        _joined_as(_pieces(_one_call)),
    ),
    broken(
        "first-extra-counts",
        "Extra values stay as the first chunk of a stream had them.",
        "MSG-008",
        _joined_as(_first_extra),
    ),
    broken(
        "streamed-calls-by-id",
        "The calls of a streamed answer stand in the order of their ids.",
        "STR-010 STR-014",
        _joined_as(_same, _in_order_of_ids),
    ),
    broken(
        "streamed-calls-with-arguments",
        "A call of a streamed answer without arguments has an empty object of them.",
        "STR-010 STR-013",
        _joined_as(_same, _with_arguments),
    ),
    broken(
        "streamed-text-beside-calls-lost",
        "A streamed answer that calls tools has no text in the history.",
        "STR-010 STR-014",
        _joined_as(_same, _text_or_calls),
    ),
)
