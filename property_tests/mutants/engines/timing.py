"""Engines that hand a stream on late (STR)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines.events import each_event
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch
from refengine.events import AgentEvent
from refengine.stream import StreamReader


async def _at_its_end(stream: StreamReader[Given]) -> AsyncIterator[Given]:
    """Yield the chunks of a stream once all of them are there."""
    for chunk in [each async for each in stream]:
        yield chunk


async def _one_behind(stream: StreamReader[Given]) -> AsyncIterator[Given]:
    """Yield each chunk when the next one is there."""
    held: list[Given] = []
    async for chunk in stream:
        held.append(chunk)
        if len(held) > 1:
            yield held.pop(0)
    for chunk in held:
        yield chunk


def _held(kind: str, hold: Given) -> Patch:
    def changed(event: AgentEvent) -> list[AgentEvent]:
        if event.kind != kind or event.stream is None:
            return [event]
        return [replace(event, stream=StreamReader(hold(event.stream)))]

    return each_event(changed)


def _read_first(right: Right) -> Right:
    """Read the whole of an answer before its event is told."""

    async def open_answer(self: Given, ctx: Given) -> Given:
        event = await right(self, ctx)
        chunks = [each async for each in event.stream]

        async def again() -> AsyncIterator[Given]:
            for each in chunks:
                yield each

        return replace(event, stream=StreamReader(again()))

    return open_answer


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "answers-held-to-their-end",
        "The chunks of an answer are handed on when the last one is there.",
        "STR-024",
        _held("model", _at_its_end),
    ),
    broken(
        "answers-told-when-whole",
        "The event of a streamed answer comes when all of it was read.",
        "STR-024",
        patch("loop.open_answer", _read_first),
    ),
    broken(
        "answers-one-chunk-behind",
        "A chunk of an answer is handed on when the next one is there.",
        "STR-024",
        _held("model", _one_behind),
    ),
    broken(
        "results-held-to-their-end",
        "The chunks of a result are handed on when the last one is there.",
        "STR-025",
        _held("tool", _at_its_end),
    ),
)
