"""Engines that lose what somebody asks, or find less of it again (INT, SER)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import handing_back
from property_tests.mutants.engines.events import each_event
from property_tests.mutants.mutant import Door, Mutant
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
from refengine.interrupts import Interrupt
from refengine.messages import History, Message, as_history
from refengine.run import RunResult

ASKED: Final = "An interrupt that a hook or tool raises interrupts the run."


def _as_error(name: str) -> Patch:
    """End the run with an error where a wrapper around the model asks."""

    def replaced(right: Right) -> Right:
        async def ask(self: Given, ctx: Context) -> Given:
            try:
                return await right(self, ctx)
            except Interrupt as stop:
                self.interrupts = ()
                raise RuntimeError("interrupted") from stop

        return ask

    return patch(name, replaced)


def _left(change: Callable[[RunResult], Sequence[Message]]) -> Door:
    """Hand back other messages of a run that waits."""

    def changed(outcome: RunResult) -> RunResult:
        if outcome.status != "interrupted":
            return outcome
        return replace(outcome, messages=History(change(outcome)))

    return handing_back(changed)


def _with_results(outcome: RunResult) -> Sequence[Message]:
    """Put the results of calls that have ended behind the message that made them."""
    calls = outcome.messages[-1].tool_calls if outcome.messages else ()
    told = [each.message for each in outcome.events if each.kind == "tool"]
    ids = {call.id for call in calls}
    found = [each for each in told if each and each.tool_call_id in ids]
    return [*outcome.messages, *found]


def _edited_so_far() -> Sequence[Patch]:
    """Put into the history what hooks of a pass had edited before one that asks."""
    passes: list[Given] = []

    def noting(right: Right) -> Right:
        async def rewrite(self: Given, *given: Given, **how: Given) -> Given:
            passes[:] = [self]
            return await right(self, *given, **how)

        return rewrite

    def keeping(right: Right) -> Right:
        async def run_phases(self: Given, *given: Given) -> Given:
            try:
                return await right(self, *given)
            except Interrupt:
                self.loop.history = as_history(passes[-1].stopped().messages)
                raise

        return run_phases

    return patch("resume.rewrite", noting), patch("resume.run_phases", keeping)


def _unkept(loop_step: Right) -> Right:
    """Go on with the history that a run which was cancelled began with."""

    async def begin(self: Given) -> int:
        if self.saved is not None and not self.saved.point.entries:
            self.loop.history = History([*self.loop.history][: len(self.saved.given)])
            self.loop.iterations, self.at = 0, None
        part: int = await loop_step(self)
        return part

    return begin


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "streamed-model-wrapper-asks-as-error",
        "In a streaming run an interrupt around the model ends it with an error.",
        "INT-018",
        _as_error("loop.open_answer"),
        says=ASKED,
    ),
    broken(
        "interrupt-untold",
        "An interrupted run has no event that says so.",
        "INT-008",
        each_event(lambda event: [] if event.kind == "interrupt" else [event]),
    ),
    wrong(
        "waiting-with-results",
        "A run that waits hands back results of calls beside the one that asks.",
        "INT-020",
        _left(_with_results),
    ),
    wrong(
        "waiting-with-edits-of-a-pass",
        "A run that waits hands back what hooks before the one that asks edited.",
        "INT-020",
        PatchedDoor("waiting-with-edits-of-a-pass", _edited_so_far),
    ),
    broken(
        "cancelled-run-begun-anew",
        "A kept run that was cancelled begins with its input when it goes on.",
        "SER-014",
        patch("resume.begin", _unkept),
    ),
)
