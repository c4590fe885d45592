"""Engines that hold streams back, cut them anew, or join them wrongly (STR)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, TypeAlias

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
from refengine.messages import Message, MessageChunk, ToolCallChunk
from refengine.stream import StreamReader

Chunks: TypeAlias = AsyncIterator[Given]  # of texts or of messages
AS_IT_COMES: Final = "A stream is handed on as it comes."


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


def _with_arguments(message: Message) -> Message:
    """Give calls whose arguments came empty an empty object."""
    calls = [
        each if each.arguments else replace(each, arguments="{}")
        for each in message.tool_calls
    ]
    return replace(message, tool_calls=tuple(calls))


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "empty-chunk-ends-a-stream",
        "A streamed answer is over at a chunk that holds nothing.",
        "STR-005",
        models(_over_when_empty),
    ),
    broken(
        "results-one-chunk-behind",
        "The consumer gets each chunk of a result when the next one is there.",
        "STR-006",
        _shown(_one_behind, "tool"),
        says=AS_IT_COMES,
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
        "streamed-calls-with-arguments",
        "A call of a streamed answer without arguments has an empty object of them.",
        "STR-010 STR-013",
        _joined_as(_same, _with_arguments),
    ),
)
