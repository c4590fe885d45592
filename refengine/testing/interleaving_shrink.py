"""Shrinks a schedule until none of its deviations can be left out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final, TypeAlias

from refengine.testing.interleaving_loop import HELD, Schedule
from refengine.testing.interleaving_play import (
    Played,
    Stage,
    UnrepeatableError,
    keeping,
)

BUDGET: Final = 500
"""So many plays shrinking takes at most."""

Deviations: TypeAlias = Sequence[tuple[int, int]]


def shrunk(stage: Stage, failed: Played) -> Played:
    """Return a play that fails likewise with few deviations, and its story.

    Raises UnrepeatableError if playing it again does not fail.
    """
    best = _Shrinker(stage, failed).run()
    told = stage.play(keeping(best.schedule), telling=True)
    if told.kind is not failed.kind or told.schedule != best.schedule:
        raise UnrepeatableError(len(best.widths))
    return told


class _Shrinker:
    """Leaves out deviations: all but one, then halves, quarters, single ones."""

    def __init__(self, stage: Stage, failed: Played) -> None:
        self._stage = stage
        self._best = failed
        self._left = BUDGET

    @property
    def _deviations(self) -> Deviations:
        return self._best.schedule.deviations

    def run(self) -> Played:
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
