"""The levels of a systematic search: all schedules with one deviation more.

What one play had to choose from says which schedules come after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from refengine.testing.interleaving_loop import HELD, Schedule
from refengine.testing.interleaving_play import UnrepeatableError


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
