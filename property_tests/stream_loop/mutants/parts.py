"""Mutants of parts: what is told of them is not what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from property_tests.dialects.dialect import DialectMutant
from property_tests.mutants.patching import Given, Patch, Right
from property_tests.stream_loop.mutants.steps import broken, step
from property_tests.stream_loop.mutants.streaming import telling
from refengine.messages import ToolCallChunk


def events(
    name: str, change: Callable[[Given], Iterator[Given]]
) -> Callable[[], Sequence[Patch]]:
    """Return patches by which the events of a step of the tracker are changed."""

    def replacing(right: Right) -> Right:
        def wrong(*args: Given) -> Iterator[Given]:
            for each in right(*args):
                yield from change(each)

        return wrong

    return lambda: [step(name, replacing)]


async def _late_snapshots(right: Right, self: Given, name: str, fact: Given) -> None:
    """Tell the parts without the last of them."""
    await right(self, name, fact[:-1] if name == "on_parts_change" else fact)


def _without_parts(right: Right) -> Right:
    def wrong(*args: Given) -> Given:
        return replace(right(*args), parts=())

    return wrong


def _elsewhere(event: Given) -> Iterator[Given]:
    yield replace(event, place=event.place + 1)


def _back(event: Given) -> Iterator[Given]:
    yield event
    yield replace(event, state="streaming", text="")


def _first_arguments(right: Right) -> Right:
    """Give each piece to the call that began first."""

    def wrong(self: Given, piece: Given, new_id: Given) -> Iterator[Given]:
        known = self.calls
        if piece.index is not None and known and not piece.name:
            piece = ToolCallChunk(0, "", "", piece.arguments)
        found: Iterator[Given] = right(self, piece, new_id)
        return found

    return wrong


def _one_text(right: Right) -> Right:
    """Tell each piece of text as a part that is done."""

    def wrong(self: Given, text: str) -> Iterator[Given]:
        yield from right(self, text)
        yield from self.end_stream(lambda: "x")

    return wrong


def _unlike(event: Given) -> Iterator[Given]:
    if event.kind == "tool_result":
        yield replace(event, text=f"{event.text}.")
    else:
        yield event


def _not_executing(_: Given) -> Iterator[Given]:
    yield from ()


PARTS: Final[tuple[DialectMutant, ...]] = (
    broken(
        "loop-snapshots-short",
        "The parts are told without the last of them.",
        "LOOP-050",
        telling(_late_snapshots),
    ),
    broken(
        "loop-result-without-parts",
        "A result has no parts.",
        "LOOP-051",
        lambda: [step("linear.result", _without_parts)],
    ),
    broken(
        "loop-parts-move",
        "A part moves when its text is over.",
        "LOOP-052",
        events("parts.finish", _elsewhere),
    ),
    broken(
        "loop-parts-go-back",
        "A call is told to be streaming when it is executed.",
        "LOOP-052 LOOP-055",
        events("parts.execute", _back),
    ),
    broken(
        "loop-arguments-mixed",
        "Pieces of arguments go to the call that began first.",
        "LOOP-053",
        lambda: [step("parts.piece", _first_arguments)],
    ),
    broken(
        "loop-texts-apart",
        "Each piece of text is a part of its own.",
        "LOOP-053 LOOP-057",
        lambda: [step("parts.text", _one_text)],
    ),
    broken(
        "loop-result-parts-unlike",
        "The part of a result has another text.",
        "LOOP-054",
        events("parts.finish", _unlike),
    ),
    broken(
        "loop-never-executing",
        "That a call is executed is not told.",
        "LOOP-055",
        events("parts.execute", _not_executing),
    ),
)
"""All of them."""
