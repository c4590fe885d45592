"""Engines that are wrong about runs that stop to ask, and go on (INT, SER)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, cast

from property_tests.mutants.around import under
from property_tests.mutants.engines.events import each_event
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


def _tools_forgotten(entry: Given, old: Given) -> None:
    if old.hook == "tool" and old.done:
        entry.done = False


def _unmarked(entry: Given, _: Given) -> None:
    entry.reentry = False


def _answers_forgotten(entry: Given, old: Given) -> None:
    entry.answers, entry.questions = old.answers[-1:], ()


def _changes_forgotten(entry: Given, _: Given) -> None:
    entry.changes = None


def resumed(change: Callable[[Given], None]) -> Patch:
    """Change a run that goes on, once it stands where it stood."""

    def replaced(right: Right) -> Right:
        async def begin(self: Given) -> Given:
            if self.saved is not None:
                change(self)
            return await right(self)

        return begin

    return patch("resume.begin", replaced)


def _counted_again(kept: Given) -> None:
    kept.loop.iterations += 1


def _counted_anew(kept: Given) -> None:
    kept.loop.iterations = min(kept.loop.iterations, 1)


def _addresses_forgotten(kept: Given) -> None:
    kept.writer.journal.addresses = set()


def _events_forgotten(kept: Given) -> None:
    if kept.at is not None:
        kept.at = replace(kept.at, told=())


def _context_forgotten(kept: Given) -> None:
    if kept.at is not None:
        kept.at = replace(kept.at, ctx={})


def _options_forgotten(kept: Given) -> None:
    kept.loop.options = NO_OPTIONS


def _tools_unknown(right: Right) -> Right:
    """Begin with the model where a run stood before its tools."""

    async def begin(self: Given) -> int:
        skip: int = await right(self)
        return min(skip, MODEL)

    return begin


def _from_the_first(right: Right) -> Right:
    """Run the hooks of a pass from the first one, wherever it was interrupted."""

    def rewrite(self: Given, *given: Given, start: int = 0, **how: Given) -> Given:
        return right(self, *given, start=0 * start, **how)

    return rewrite


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


def _one_address(_: Right) -> Right:
    def asks(_: Given, address: Given) -> Given:
        return replace(address, tool=None, call_id=None, ordinal=1)

    return asks


def _as_error(event: AgentEvent) -> list[AgentEvent]:
    if event.kind != "interrupt":
        return [event]
    error = RuntimeError("somebody has to be asked")
    path, questions = event.run_path, event.interrupts
    return [AgentEvent("error", path, error=error, interrupts=questions)]


def _first_answer(right: Right) -> Right:
    """Give whoever asks the answer that stands first."""

    def answered(self: Given, waiting: Given) -> Given:
        found = right(self, waiting)
        return (next(iter(self.answers.values())),) if found and self.answers else found

    return answered


def _all_go_on(_: Right) -> Right:
    def goes_on(*_: Given) -> bool:
        return True

    return goes_on


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


def _by_tool(right: Right) -> Right:
    """Give whoever asks the first answer that is for its tool, or its hook."""

    def answered(self: Given, waiting: Given) -> Given:
        found = right(self, waiting)
        own = str(waiting.address).partition("(")[0]
        like = [each for each in self.answers or () if each.partition("(")[0] == own]
        return (self.answers[like[0]],) if found and like else found

    return answered


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


def _without_locals(right: Right) -> Right:
    def begun(self: Given, history: Given, _: Given) -> Given:
        return right(self, history, {})

    return begun


def _hooks_unchecked(_: Right) -> Right:
    def hook(*_: Given) -> None:
        """Let everything in."""

    return hook


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "swallowed-interrupt-lost",
        "A wrapper that turns everything into a text swallows an interrupt.",
        "INT-001",
        under("swallowed_interrupt", "lost"),
    ),
    broken(
        "finished-hooks-again",
        "When a run goes on in a pass of hooks, those that had finished run again.",
        "INT-002",
        patch("resume.rewrite", _from_the_first),
    ),
    broken(
        "ended-tools-again",
        "A tool that had ended is executed again for a wrapper that asked after it.",
        "INT-003",
        recalled(_tools_forgotten),
    ),
    broken(
        "re-entries-unmarked",
        "What is entered again is not told that it is.",
        "INT-004",
        recalled(_unmarked),
    ),
    broken(
        "interrupted-iteration-counted-twice",
        "An iteration that was interrupted is counted once more when it goes on.",
        "INT-005",
        resumed(_counted_again),
    ),
    broken(
        "iterations-counted-anew",
        "A run that goes on counts its iterations from the first one again.",
        "INT-019",
        resumed(_counted_anew),
    ),
    broken(
        "changes-in-place-forgotten",
        "What a finished call changed in its input is gone for who calls next again.",
        "INT-005",
        recalled(_changes_forgotten),
    ),
    wrong(
        "siblings-of-who-asks-cancelled",
        "A call that asks cancels the calls beside it.",
        "INT-006",
        PatchedDoor("siblings-of-who-asks-cancelled", _siblings_cancelled),
    ),
    broken(
        "one-address-for-all",
        "Interrupts of one iteration that come from one tool have one address.",
        "INT-007",
        patch("resume.asks", _one_address),
    ),
    broken(
        "addresses-given-again",
        "A question has the address of one that was answered before.",
        "INT-017",
        resumed(_addresses_forgotten),
    ),
    broken(
        "interrupt-as-error",
        "An interrupt is told as the error that ended the run.",
        "INT-008",
        each_event(_as_error),
    ),
    broken(
        "answers-mixed-up",
        "Each one who asked is given the first answer.",
        "INT-009",
        patch("resume.answered", _first_answer),
    ),
    broken(
        "earlier-answers-forgotten",
        "A hook that asks twice gets its second answer for both.",
        "INT-009",
        recalled(_answers_forgotten),
    ),
    broken(
        "answers-to-calls-mixed-up",
        "Calls of one tool that ask alike are all given the answer to the first.",
        "INT-009",
        patch("resume.answered", _by_tool),
    ),
    broken(
        "empty-answers-taken-for-none",
        "Who is answered with false, 0 or an empty text waits further.",
        "INT-009",
        patch("resume.answered", _empty_waits),
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
        "results-told-twice",
        "Events that the consumer had before an interrupt come again after it.",
        "INT-012",
        resumed(_events_forgotten),
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
        "context-lost-in-between",
        "What finished hooks left in the context is gone when a run goes on.",
        "SER-008",
        resumed(_context_forgotten),
    ),
    broken(
        "run-locals-lost-in-between",
        "Run-local values are gone when a run goes on.",
        "SER-008",
        patch("resume.locals", _without_locals),
    ),
    broken(
        "options-of-resume-ignored",
        "A run goes on without the options that its resume was given.",
        "SER-009",
        resumed(_options_forgotten),
    ),
)
