"""Engines that are wrong about runs that stop to ask, and go on (INT, SER)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, Final, cast

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, Replace, patched
from refengine.context import Context
from refengine.events import AgentEvent
from refengine.interrupts import Address, Interrupt
from refengine.loop import MODEL, Loop
from refengine.messages import Json
from refengine.profile import Profile, choosing
from refengine.resume import keeper
from refengine.resume.checkpoint import Entry, Saved
from refengine.resume.journal import Journal, LiveEntry
from refengine.resume.keepable import CheckedLocals
from refengine.resume.keeper import KeptRun
from refengine.resume.passes import KeptPass
from refengine.resume.steps import StepWriter
from refengine.state.values import Types
from refengine.testing.doors import ReferenceEngine
from refengine.tool_calls import CallBatch
from refengine.tools import NO_OPTIONS


def _places(change: Callable[[LiveEntry, Entry], None]) -> Patch:
    """Change each place that goes on from an entry, when it is made."""

    def replacing(right: Callable[..., None]) -> Callable[..., None]:
        def recall(self: LiveEntry, old: Entry) -> None:
            right(self, old)
            change(self, old)

        return recall

    return Patch(LiveEntry, "recall", replacing)


def _tools_forgotten(place: LiveEntry, old: Entry) -> None:
    if old.hook == "tool" and old.done:
        place.done = False


def _unmarked(place: LiveEntry, _: Entry) -> None:
    place.reentry = False


def _answers_forgotten(place: LiveEntry, old: Entry) -> None:
    place.answers = old.answers[-1:]  # the fault is inside
    place.questions = ()  # as above


def _changes_forgotten(place: LiveEntry, _: Entry) -> None:
    place.changes = None


def _from_the_first(right: Callable[..., Any]) -> Callable[..., Any]:
    """Run the hooks of a pass from the first one, wherever it was interrupted."""

    def rewrite(self: KeptPass, *given: Any, start: int = 0, **how: Any) -> Any:  # noqa: ANN401  # as the engine's
        return right(self, *given, start=0 * start, **how)

    return rewrite


def _counted_again(right: Callable[..., None]) -> Callable[..., None]:
    def stand_where(self: KeptRun, saved: Saved) -> None:
        right(self, saved)
        self.loop.iterations += 1

    return stand_where


def _siblings_cancelled(right: Callable[..., None]) -> Callable[..., None]:
    def hold_back(self: CallBatch) -> None:
        for task in self._tasks:
            task.cancel()
        right(self)

    return hold_back


def _waits_for_none(right: Callable[..., Any]) -> Callable[..., Any]:
    """Wait for calls that were cancelled as if they had ended."""

    async def next_event(self: CallBatch) -> AgentEvent | None:
        try:
            event: AgentEvent | None = await right(self)
        except asyncio.CancelledError:
            return None
        return event

    return next_event


def _one_address(_: object) -> Callable[[Journal, Address], Address]:
    return lambda _, address: replace(address, tool=None, call_id=None, ordinal=1)


def _swallowing(profile: Profile) -> ReferenceEngine:
    """Let a wrapper keep an interrupt, whatever the profile says."""
    return ReferenceEngine(choosing(profile, "swallowed_interrupt", "lost"))


def _as_error(right: Callable[..., Any]) -> Callable[..., Any]:
    async def interrupted(self: Loop, stop: Interrupt) -> AgentEvent:
        told: AgentEvent = await right(self, stop)
        error = RuntimeError("somebody has to be asked")
        return AgentEvent(
            "error", told.run_path, error=error, interrupts=told.interrupts
        )

    return interrupted


def _first_answer(right: Callable[..., tuple[Json, ...]]) -> Callable[..., Any]:
    """Give whoever asks the answer that stands first."""

    def answered(self: Journal, waiting: object) -> tuple[Json, ...]:
        found, given = right(self, waiting), self.answers
        return (next(iter(given.values())),) if found and given else found

    return answered


def _addresses_forgotten(right: Callable[..., Saved]) -> Callable[..., Saved]:
    def go_on(self: Journal, *given: Any) -> Saved:  # noqa: ANN401  # as the engine's
        saved = right(self, *given)
        self.addresses = set()
        return saved

    return go_on


def _all_go_on(_: object) -> Callable[[Journal, Entry], bool]:
    return lambda _, __: True


def _asked_again(right: Callable[..., Any]) -> Callable[..., Any]:
    """Begin with the model where a run stood before its tools."""

    async def begin(self: KeptRun) -> int:
        skip: int = await right(self)
        return min(skip, MODEL)

    return begin


def _told_again(right: Callable[..., None]) -> Callable[..., None]:
    """Forget what the consumer has had."""

    def go_on_with(self: KeptRun, batch: CallBatch) -> None:
        right(self, batch)
        batch.delivered_before = frozenset()

    return go_on_with


def _by_anybody(_: object) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        """Go on with whatever is kept, without looking at it."""

    return refuse


def _whole_numbers(right: Callable[..., Any]) -> Callable[..., Any]:
    """Bring numbers that are whole back as such, whatever they were."""

    def whole(value: object) -> object:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, list):
            return [whole(each) for each in cast("list[object]", value)]
        return value

    def unpack(self: Types, *given: Any, **how: Any) -> object:  # noqa: ANN401  # as the engine's
        return whole(right(self, *given, **how))

    return unpack


def _unlooked_at(_: object) -> Callable[..., None]:
    def put(self: dict[str, object], key: str, value: object) -> None:
        dict[str, object].__setitem__(self, key, value)

    return put


def _hooks_unlooked_at(_: object) -> Callable[..., None]:
    def hook(self: StepWriter, *given: object) -> None:
        """Let everything in."""

    return hook


def _without_context(_: object) -> Callable[[KeptRun, object], Context]:
    return lambda self, _: self.loop.ctx


def _without_locals(right: Callable[..., Any]) -> Callable[..., Any]:
    def begun(self: StepWriter, history: object, _: Mapping[str, object]) -> object:
        return right(self, history, {})

    return begun


def _without_options(right: Callable[..., None]) -> Callable[..., None]:
    def stand_where(self: KeptRun, saved: Saved) -> None:
        right(self, saved)
        self.loop.options = NO_OPTIONS

    return stand_where


def _broken(id_: str, about: str, clause: str, *patches: Patch) -> Mutant:
    return Mutant(id=id_, about=about, violates=(clause,), wrong=patched(id_, *patches))


def _of(owner: ModuleType | type, attribute: str, make: Replace) -> Patch:
    return Patch(owner, attribute, make)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        id="swallowed-interrupt-lost",
        about="A wrapper that turns everything into a text swallows an interrupt.",
        violates=("INT-001",),
        wrong=_swallowing,
    ),
    _broken(
        "finished-hooks-again",
        "When a run goes on in a pass of hooks, those that had finished run again.",
        "INT-002",
        _of(KeptPass, "rewrite", _from_the_first),
    ),
    _broken(
        "ended-tools-again",
        "A tool that had ended is executed again for a wrapper that asked after it.",
        "INT-003",
        _places(_tools_forgotten),
    ),
    _broken(
        "re-entries-unmarked",
        "What is entered again is not told that it is.",
        "INT-004",
        _places(_unmarked),
    ),
    _broken(
        "interrupted-iteration-counted-twice",
        "An iteration that was interrupted is counted once more when it goes on.",
        "INT-005",
        _of(KeptRun, "stand_where", _counted_again),
    ),
    _broken(
        "changes-in-place-forgotten",
        "What a finished call changed in its input is gone for who calls next again.",
        "INT-005",
        _places(_changes_forgotten),
    ),
    _broken(
        "siblings-of-who-asks-cancelled",
        "A call that asks cancels the calls beside it.",
        "INT-006",
        _of(CallBatch, "_hold_back", _siblings_cancelled),
        _of(CallBatch, "next_event", _waits_for_none),
    ),
    _broken(
        "one-address-for-all",
        "Interrupts of one iteration that come from one tool have one address.",
        "INT-007",
        _of(Journal, "asks", _one_address),
    ),
    _broken(
        "addresses-given-again",
        "A question has the address of one that was answered before.",
        "INT-017",
        _of(Journal, "go_on", _addresses_forgotten),
    ),
    _broken(
        "interrupt-as-error",
        "An interrupt is told as the error that ended the run.",
        "INT-008",
        _of(Loop, "_interrupted", _as_error),
    ),
    _broken(
        "answers-mixed-up",
        "Each one who asked is given the first answer.",
        "INT-009",
        _of(Journal, "answered", _first_answer),
    ),
    _broken(
        "earlier-answers-forgotten",
        "A hook that asks twice gets its second answer for both.",
        "INT-009",
        _places(_answers_forgotten),
    ),
    _broken(
        "unanswered-entered-too",
        "Calls that wait for their answer are entered when another one has its.",
        "INT-010",
        _of(Journal, "goes_on", _all_go_on),
    ),
    _broken(
        "answer-asked-for-again",
        "A run that goes on asks the model once more.",
        "INT-011",
        _of(KeptRun, "begin", _asked_again),
    ),
    _broken(
        "results-told-twice",
        "Events that the consumer had before an interrupt come again after it.",
        "INT-012",
        _of(KeptRun, "go_on_with", _told_again),
    ),
    Mutant(
        id="resumed-by-anybody",
        about="Whatever is kept goes on, with any answers, ended or not, by any agent.",
        violates=("INT-013", "INT-014", "INT-015"),
        wrong=patched(
            "resumed by anybody", _of(keeper, "refuse_resuming", _by_anybody)
        ),
    ),
    _broken(
        "types-lost-in-storage",
        "Numbers that are whole come back as such, though they were not.",
        "SER-001",
        _of(Types, "unpack", _whole_numbers),
    ),
    _broken(
        "run-locals-unlooked-at",
        "A run-local value that cannot be kept is found at the next step.",
        "SER-007",
        _of(CheckedLocals, "__setitem__", _unlooked_at),
    ),
    _broken(
        "messages-unlooked-at",
        "A new message that cannot be kept is found at the next step.",
        "MSG-019",
        _of(StepWriter, "hook", _hooks_unlooked_at),
    ),
    _broken(
        "context-lost-in-between",
        "What finished hooks left in the context is gone when a run goes on.",
        "SER-008",
        _of(KeptRun, "context_at", _without_context),
    ),
    _broken(
        "run-locals-lost-in-between",
        "Run-local values are gone when a run goes on.",
        "SER-008",
        _of(StepWriter, "begun", _without_locals),
    ),
    _broken(
        "options-of-resume-ignored",
        "A run goes on without the options that its resume was given.",
        "SER-009",
        _of(KeptRun, "stand_where", _without_options),
    ),
)
