"""Searching schedules: all with one deviation more, and the smallest that still fails.

What one play had to choose from says which schedules come after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Final, TypeAlias

from refengine.testing.schedules.loop import HELD, Schedule
from refengine.testing.schedules.playing import (
    PlayedSchedule,
    Stage,
    UnrepeatableError,
    keeping,
)


@dataclass(frozen=True, slots=True)
class Branch:
    """A schedule that was played, and how many tasks each of its choice points had."""

    schedule: Schedule
    widths: Sequence[int]

    @property
    def after(self) -> int:
        """The first choice point after its last deviation."""
        deviations = self.schedule.deviations
        return deviations[-1][0] + 1 if deviations else 0


class Children(Sequence[tuple[Branch, Schedule]]):
    """All schedules with one deviation more than those played, made when asked for.

    Each schedule has one parent: the one without its last deviation.
    """

    def __init__(self, parents: Sequence[Branch]) -> None:
        self._parents = parents
        sizes = (sum(each.widths[each.after :]) for each in parents)
        self._ends = list(accumulate(sizes))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, at: int) -> tuple[Branch, Schedule]:  # type: ignore[override]  # no slices
        which = bisect_right(self._ends, at)
        parent = self._parents[which]
        rest = at - (self._ends[which - 1] if which else 0)
        point = parent.after
        while rest >= parent.widths[point]:
            rest -= parent.widths[point]
            point += 1
        deviation = (point, rest or HELD)
        return parent, Schedule((*parent.schedule.deviations, deviation))


def compare(parent: Branch, made: Branch) -> None:
    """Compare a play with its parent, or with itself, up to where they part.

    Raises UnrepeatableError.
    """
    if parent.schedule == made.schedule:
        until, same = len(parent.widths), made.widths == parent.widths
    else:
        until = made.after
        same = made.widths[:until] == parent.widths[:until]
    if not same:
        raise UnrepeatableError(until)


BUDGET: Final = 500
"""So many plays shrinking takes at most."""

Deviations: TypeAlias = Sequence[tuple[int, int]]


def shrunk(stage: Stage, failed: PlayedSchedule) -> PlayedSchedule:
    """Return a play that fails likewise with few deviations, and its story.

    Raises UnrepeatableError if playing it again does not fail.
    """
    best = _Shrinker(stage, failed).run()
    replayed = stage.play(keeping(best.schedule), telling=True)
    if replayed.kind is not failed.kind or replayed.schedule != best.schedule:
        raise UnrepeatableError(len(best.widths))
    return replayed


class _Shrinker:
    """Leaves out deviations: all but one, then halves, quarters, single ones."""

    def __init__(self, stage: Stage, failed: PlayedSchedule) -> None:
        self._stage = stage
        self._best = failed
        self._left = BUDGET

    @property
    def _deviations(self) -> Deviations:
        return self._best.schedule.deviations

    def run(self) -> PlayedSchedule:
        """Return the best play that was found."""
        self._try_alone()
        size = len(self._deviations)
        while size:
            if not self._leave_out(size) or size > 1:
                size //= 2
        return self._best

    def _try_alone(self) -> None:
        """To hold one task back does what many deviations did surprisingly often."""
        if len(self._deviations) < 2:
            return
        own = self._stage.play(keeping(Schedule()))
        points = range(len(own.widths))[: BUDGET // 2]
        alone = (((point, HELD),) for point in points)
        any(map(self._fails, chain(((),), alone)))

    def _leave_out(self, size: int) -> bool:
        """Leave out so many in a row wherever possible; tell whether any could be."""
        before = len(self._deviations)
        at = 0
        while at < len(self._deviations):
            rest = (*self._deviations[:at], *self._deviations[at + size :])
            if not self._fails(rest):
                at += size
        return len(self._deviations) < before

    def _fails(self, deviations: Deviations) -> bool:
        """Play these; if they fail likewise and are fewer, they are the best so far."""
        if not self._left:
            return False
        self._left -= 1
        played = self._stage.play(keeping(Schedule(tuple(deviations))))
        fewer = len(played.schedule.deviations) < len(self._deviations)
        if played.kind is not self._best.kind or not fewer:
            return False
        self._best = played
        return True
