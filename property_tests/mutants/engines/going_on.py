"""Engines that forget something of a run before it goes on (INT, SER)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.given_runs import Events
from property_tests.mutants.engines.resuming import recalled, resumed
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.events import AgentEvent
from refengine.interrupts import Pending


def _invoked(kept: Given) -> None:
    kept.loop.streaming = False


def _instruction_again(kept: Given) -> None:
    loop = kept.loop
    if loop.first is not None:
        loop.history = loop.history.after(loop.first)


def _siblings_again(entry: Given, old: Given) -> None:
    if old.hook == "call" and old.done:
        entry.done = False


def _answers(change: Callable[[Given], Given]) -> Patch:
    """Give who asked another answer than the one that came."""

    def replaced(right: Right) -> Right:
        def answered(self: Given, waiting: Pending) -> Given:
            return tuple(change(each) for each in right(self, waiting))

        return answered

    return patch("resume.answered", replaced)


def _as_text(answer: Given) -> Given:
    return None if answer is None else str(answer)


def _moved_on(right: Right) -> Right:
    """Give questions that wait further another address."""

    def pending(self: Given, *given: Given) -> tuple[Pending, ...]:
        waits = {id(each) for run in self.runs if not run.begun for each in _of(run)}
        found: tuple[Pending, ...] = right(self, *given)
        return tuple(
            _next_address(each) if id(each) in waits else each for each in found
        )

    return pending


def _of(run: Given) -> Sequence[Pending]:
    return () if run.record is None else tuple(run.record.pending())


def _next_address(asked: Pending) -> Pending:
    address = asked.address
    return replace(asked, address=replace(address, ordinal=address.ordinal + 1))


def _response_again(right: Right) -> Right:
    """Tell the response again whose calls had been interrupted."""

    async def run(self: Given) -> Events:
        at = self.at
        if at is not None and at.phase == "tools" and at.answer is not None:
            yield AgentEvent("model", self.loop.run_path, at.answer)
        async for event in right(self):
            yield event

    return run


def _all_marked() -> Sequence[Patch]:
    """Mark everything that a run does once it went on."""
    on: list[Given] = []

    def replaced(right: Right) -> Right:
        def root(self: Given, *given: Given, **how: Given) -> Given:
            live = right(self, *given, **how)
            if any(each is self for each in on):
                live.reentry = True
            return live

        return root

    return (
        resumed(lambda kept: on.append(kept.writer.journal)),
        patch("resume.root", replaced),
    )


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "resumed-run-invoked",
        "A streaming run goes on as one that is invoked.",
        "INT-005 STR-004",
        resumed(_invoked),
    ),
    broken(
        "instruction-again-on-resume",
        "A run that goes on has its system message twice.",
        "INT-005",
        resumed(_instruction_again),
    ),
    broken(
        "finished-siblings-again",
        "Calls that had ended beside one that asked are made again.",
        "INT-006 INT-003",
        recalled(_siblings_again),
    ),
    broken(
        "answers-as-text",
        "Every answer reaches who asked as a text.",
        "INT-009",
        _answers(_as_text),
    ),
    broken(
        "waiting-questions-move-on",
        "A question that waits further has another address than before.",
        "INT-010",
        patch("batch.pending", _moved_on),
    ),
    broken(
        "response-told-again-on-resume",
        "The event of a response comes again when its calls go on.",
        "EVT-001 INT-005",
        patch("resume.run", _response_again),
    ),
    wrong(
        "everything-marked-as-re-entry",
        "Whatever a run does after it went on is marked as a re-entry.",
        "INT-002 INT-005",
        PatchedDoor("everything-marked-as-re-entry", _all_marked),
    ),
)
