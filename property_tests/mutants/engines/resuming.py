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
from refengine.resume.keeper import MODEL
from refengine.tools import NO_OPTIONS


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


def _counted_anew(kept: Given) -> None:
    kept.loop.iterations = min(kept.loop.iterations, 1)


def _options_forgotten(kept: Given) -> None:
    kept.loop.options = NO_OPTIONS


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


def _by_anybody(_: Right) -> Right:
    def refuse_resuming(*_: Given) -> None:
        """Go on with whatever is kept, without looking at it."""

    return refuse_resuming


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


def _unchecked(right: Right) -> Right:
    """Return run-local values that may be anything."""

    def begun(*given: Given) -> Given:
        return dict(right(*given))

    return begun


def _hooks_unchecked(_: Right) -> Right:
    def hook(*_: Given) -> None:
        """Let everything in."""

    return hook


def _all_go_on(_: Right) -> Right:
    def goes_on(*_: Given) -> bool:
        return True

    return goes_on


def _tools_unknown(right: Right) -> Right:
    """Begin with the model where a run stood before its tools."""

    async def begin(self: Given) -> int:
        skip: int = await right(self)
        return min(skip, MODEL)

    return begin


def _unmarked(entry: Given, _: Given) -> None:
    entry.reentry = False


def _cut(right: Right) -> Right:
    async def begin(self: Given) -> Given:
        if self.saved is not None:
            self.loop.history = self.loop.history[-200:]
        return await right(self)

    return begin


def _two_answers(entry: Given, _: Given) -> None:
    entry.answers = entry.answers[-2:]


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "swallowed-interrupt-lost",
        "A wrapper that turns everything into a text swallows an interrupt.",
        "INT-001",
        under("swallowed_interrupt", "lost"),
    ),
    broken(
        "iterations-counted-anew",
        "A run that goes on counts its iterations from the first one again.",
        "INT-019",
        resumed(_counted_anew),
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
        "resumed-by-anybody",
        "Whatever is kept goes on, with any answers, ended or not, by any agent.",
        "INT-013 INT-014 INT-015",
        patch("resume.refuse", _by_anybody),
    ),
    broken(
        "types-lost-in-storage",
        "Numbers that are whole come back as such, though they were not.",
        "SER-001",
        patch("resume.unpack", _whole_numbers),
    ),
    broken(
        "run-locals-unlooked-at",
        "A run-local value that cannot be kept is found at the next step.",
        "SER-007",
        patch("resume.locals", _unchecked),
    ),
    broken(
        "messages-unlooked-at",
        "A new message that cannot be kept is found at the next step.",
        "MSG-019",
        patch("resume.hook", _hooks_unchecked),
    ),
    broken(
        "options-of-resume-ignored",
        "A run goes on without the options that its resume was given.",
        "SER-009",
        resumed(_options_forgotten),
    ),
    broken(
        "unanswered-entered-too",
        "Calls that wait for their answer are entered when another one has its.",
        "INT-010",
        patch("resume.goes_on", _all_go_on),
    ),
    broken(
        "answer-asked-for-again",
        "A run that goes on asks the model once more.",
        "INT-011",
        patch("resume.begin", _tools_unknown),
    ),
    broken(
        "re-entries-unmarked",
        "What is entered again is not told that it is.",
        "INT-004",
        recalled(_unmarked),
    ),
    broken(
        "resumed-history-cut",
        "A run that goes on has the last 200 of its messages.",
        "INT-021",
        patch("resume.begin", _cut),
    ),
    broken(
        "two-answers-known",
        "A hook that asks often is given the last two answers.",
        "INT-009",
        recalled(_two_answers),
    ),
)
