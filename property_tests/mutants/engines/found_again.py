"""Engines that find less again than a run had when it stopped (INT, SER)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from property_tests.mutants.engines.resuming import resumed
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
from refengine.messages import History, Message


def _edits(change: Callable[[list[Message], list[Message]], list[Message]]) -> Door:
    """Change what hooks of a pass had left, given that and what they were given.

    It is what the hook sees that asked, when its run goes on.
    """

    def patches() -> Sequence[Patch]:
        had: list[Message] = []

        def noting(right: Right) -> Right:
            async def run_phases(self: Given, *given: Given) -> Given:
                had[:] = self.loop.history
                return await right(self, *given)

            return run_phases

        def going_on(right: Right) -> Right:
            async def rewrite(
                self: Given, ctx: Given, messages: Given, *more: Given, **how: Given
            ) -> Given:
                if how["entry"] is not None:
                    messages = History(change([*messages], had))
                return await right(self, ctx, messages, *more, **how)

            return rewrite

        return patch("resume.run_phases", noting), patch("resume.rewrite", going_on)

    return PatchedDoor("edits of a pass", patches)


def _lost(_: list[Message], had: list[Message]) -> list[Message]:
    return had


def _twice(left: list[Message], had: list[Message]) -> list[Message]:
    new = [each for each in left if all(each is not old for old in had)]
    return [*left, *new]


def _only_given(kept: Given) -> None:
    """Forget what hooks said in the name of the user."""
    given = [each.content for each in kept.saved.given]
    history = kept.loop.history
    left = [m for m in history if m.role != "user" or m.content in given]
    kept.loop.history = History(left)


def _steps(change: Callable[[Given, Given], Given]) -> Patch:
    """Keep other run-local values in a step, given them and what is asked there."""

    def replaced(right: Right) -> Right:
        async def step(  # as a step is written
            self: Given,
            iteration: Given,
            history: Given,
            values: Given,
            point: Given,
            pending: Given = (),
            **how: Given,
        ) -> None:
            left = change(values, pending)
            await right(self, iteration, history, left, point, pending, **how)

        return step

    return patch("resume.step", replaced)


def _none_where_asked(values: Given, pending: Given) -> Given:
    return {} if pending else values


def _unwritten(_: Right) -> Right:
    async def unwritten(*_: Given) -> None:
        """Write no step here."""

    return unwritten


def _unkept(loop_step: Right) -> Right:
    """Go on with the history that a run which was cancelled began with."""

    async def begin(self: Given) -> int:
        if self.saved is not None and not self.saved.point.entries:
            self.loop.history = History([*self.loop.history][: len(self.saved.given)])
            self.loop.iterations, self.at = 0, None
        part: int = await loop_step(self)
        return part

    return begin


def _uncounted(kept: Given) -> None:
    """Count nothing of a run that nobody interrupted."""
    if not kept.saved.point.entries:
        kept.loop.iterations = 0


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "edits-of-finished-hooks-lost",
        "A hook that asked does not see again what hooks before it had edited.",
        "INT-021",
        _edits(_lost),
    ),
    wrong(
        "edits-of-finished-hooks-twice",
        "A hook that asked sees twice what hooks before it had added.",
        "INT-021",
        _edits(_twice),
    ),
    broken(
        "history-of-hooks-lost-on-resume",
        "A run goes on behind its calls without the messages that hooks had added.",
        "INT-021",
        resumed(_only_given),
    ),
    broken(
        "no-step-for-calls",
        "A kept run writes no step when its model has called tools.",
        "SER-013",
        patch("resume.calls_begin", _unwritten),
    ),
    broken(
        "no-step-for-results",
        "A kept run writes no step when the results of its tools are there.",
        "SER-013",
        patch("resume.settled", _unwritten),
    ),
    broken(
        "no-step-at-the-end",
        "A kept run writes no step at its end.",
        "SER-013",
        patch("resume.end", _unwritten),
    ),
    broken(
        "cancelled-run-begun-anew",
        "A kept run that was cancelled begins with its input when it goes on.",
        "SER-014",
        patch("resume.begin", _unkept),
    ),
    broken(
        "cancelled-run-counted-anew",
        "A kept run that was cancelled counts anew when it goes on.",
        "SER-014",
        resumed(_uncounted),
    ),
    broken(
        "run-locals-unkept-where-asked",
        "Run-local values are not kept in the step in which somebody asks.",
        "SER-008",
        _steps(_none_where_asked),
    ),
)
