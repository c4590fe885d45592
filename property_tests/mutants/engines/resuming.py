"""Engines that are wrong about runs that stop to ask, and go on (INT, SER)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, cast

from property_tests.mutants.around import under
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
from refengine.context import Context
from refengine.events import AgentEvent


def recalled(change: Callable[[Given, Given], None]) -> Patch:
    """Change each entry that is known again, given it and what was kept of it."""

    def replaced(right: Right) -> Right:
        def recall(self: Given, old: Given) -> None:
            right(self, old)
            change(self, old)

        return recall

    return patch("resume.recall", replaced)


def _answers_forgotten(entry: Given, old: Given) -> None:
    entry.answers, entry.questions = old.answers[-1:], ()


def resumed(change: Callable[[Given], None]) -> Patch:
    """Change a run that goes on, once it stands where it stood."""

    def replaced(right: Right) -> Right:
        async def begin(self: Given) -> Given:
            if self.saved is not None:
                change(self)
            return await right(self)

        return begin

    return patch("resume.begin", replaced)


def _siblings_cancelled() -> Sequence[Patch]:
    """Cancel the calls of a run that are under way once one of them asks.

    Calls belong to one run if they have the same run-local values.
    """
    runs: dict[int, tuple[Given, set[asyncio.Task[Given] | None]]] = {}

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            values, task = self.scope.locals, asyncio.current_task()
            _, tasks = runs.setdefault(id(values), (values, set()))
            tasks.add(task)
            try:
                await right(self, ctx, streaming)
            finally:
                tasks.discard(task)
            if self.stopped:
                await asyncio.sleep(0)  # now all of them have begun
                for each in tasks:
                    if each is not None:
                        each.cancel()

        return opened

    def waiting_for_none(right: Right) -> Right:
        """Wait for calls that were cancelled as if they had ended."""

        async def next_event(self: Given) -> AgentEvent | None:
            try:
                event: AgentEvent | None = await right(self)
            except asyncio.CancelledError:
                return None
            return event

        return next_event

    return patch("call.open", opening), patch("batch.next_event", waiting_for_none)


def _whole_numbers(right: Right) -> Right:
    """Bring numbers that are whole back as such, whatever they were."""

    def whole(value: object) -> object:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, list):
            return [whole(each) for each in cast("list[object]", value)]
        return value

    def unpack(self: Given, *given: Given, **how: Given) -> object:
        return whole(right(self, *given, **how))

    return unpack


def _empty_waits(right: Right) -> Right:
    """Take an answer that is false, 0 or empty for none, and wait further."""

    def answered(self: Given, waiting: Given) -> Given:
        found = right(self, waiting)
        return found if self.answers is None or any(found) else ()

    return answered


def _unmarked(entry: Given, _: Given) -> None:
    entry.reentry = False


def _two_answers(entry: Given, _: Given) -> None:
    entry.answers = entry.answers[-2:]


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "swallowed-interrupt-lost",
        "A wrapper that turns everything into a text swallows an interrupt.",
        "INT-001",
        under("swallowed_interrupt", "lost"),
    ),
    wrong(
        "siblings-of-who-asks-cancelled",
        "A call that asks cancels the calls beside it.",
        "INT-006",
        PatchedDoor("siblings-of-who-asks-cancelled", _siblings_cancelled),
    ),
    broken(
        "earlier-answers-forgotten",
        "A hook that asks twice gets its second answer for both.",
        "INT-009",
        recalled(_answers_forgotten),
    ),
    broken(
        "empty-answers-taken-for-none",
        "Who is answered with false, 0 or an empty text waits further.",
        "INT-009",
        patch("resume.answered", _empty_waits),
    ),
    broken(
        "types-lost-in-storage",
        "Numbers that are whole come back as such, though they were not.",
        "SER-001",
        patch("resume.unpack", _whole_numbers),
    ),
    broken(
        "re-entries-unmarked",
        "What is entered again is not told that it is.",
        "INT-004",
        recalled(_unmarked),
    ),
    broken(
        "two-answers-known",
        "A hook that asks often is given the last two answers.",
        "INT-009",
        recalled(_two_answers),
    ),
)
