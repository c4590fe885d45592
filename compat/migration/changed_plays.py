"""Small changes of a side, played one after the other in one process that stays whole.

A process takes longer to begin than a change takes to be noticed in it. So several
changes share one: what is the subject's own is imported anew for each. Whether one of
them left anything behind that others saw is looked at before any of their outcomes
counts: at the end the side is loaded as it is, and plays once more where a change was
noticed. Where that shows anything else than ever, each is played in its own process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from compat.migration.replies import SideFault, SidePlayed
from compat.migration.subject_process import SubjectProcess
from refengine.testing.scenario import Scenario

BUSY: Final = frozenset(("timeout", "killed"))
"""Faults of a child that a machine with more to spare might not have."""
SPOILED: Final = "spoiled"
"""The fault of a side that cannot be loaded once more."""

Change: TypeAlias = tuple[str, int]
"""A file, and the number of a small change of it."""


class ApartSides(Protocol):
    """Starts children of a side that are loaded with more than its reference."""

    def apart(self, loading: Mapping[str, object]) -> SubjectProcess:
        """Start one; raises SideFault."""
        ...


@dataclass(frozen=True, slots=True)
class AskedChange:
    """A change, and the places of the worlds that it is to be played in, in order."""

    change: Change
    order: Sequence[int]


@dataclass(frozen=True, slots=True)
class ChangedOutcome:
    """In how many worlds a change was played, and whether the last one noticed it.

    It is ``sure`` unless a busy machine may have been the reason.
    """

    noticed: bool
    played: int
    sure: bool = True


class _SpoiledError(Exception):
    """Changes that shared a process may have seen each other; others may ``again``."""

    def __init__(self, *, again: bool) -> None:
        self.again = again
        super().__init__(again)


@dataclass(slots=True)
class ChangedPlays:
    """Plays changes of one side in worlds, and asks ``differs`` what that shows.

    ``apart`` says that each has a process of its own from now on.
    """

    sides: ApartSides
    worlds: Callable[[int], Scenario]
    differs: Callable[[int, SidePlayed], bool]
    steps: int = 0
    apart: bool = False

    def outcomes(self, some: Sequence[AskedChange]) -> list[ChangedOutcome]:
        """Return what comes of each, in one process if that can be trusted."""
        if len(some) > 1 and not self.apart:
            try:
                return self._together(some)
            except _SpoiledError as error:
                self.apart = error.again
        return [outcome for each in some for outcome in self._together([each])]

    def _together(self, some: Sequence[AskedChange]) -> list[ChangedOutcome]:
        """Play changes in one process; raises _SpoiledError unless it stays whole."""
        with ExitStack() as stack:
            shared = _SharedProcess(self.sides, self.steps, stack)
            found = [self._outcome(shared, each) for each in some]
            if shared.loads > 1:
                self._see_that_it_is_whole(shared)
        return found

    def _outcome(self, shared: _SharedProcess, asked: AskedChange) -> ChangedOutcome:
        # What noticed its neighbours is likely to notice this one, too.
        order = sorted(asked.order, key=lambda at: at not in shared.telling)
        played, sure = 0, True
        try:
            side = shared.loaded(asked.change)
            for at in order:
                played += 1
                if self.differs(at, side.play(self.worlds(at), at)):
                    break
            else:
                return ChangedOutcome(noticed=False, played=played)
        except SideFault as fault:
            shared.see(fault)
            sure = fault.kind not in BUSY
        for at in order[played - 1 : played] if played else ():
            shared.telling.setdefault(at)
        return ChangedOutcome(noticed=True, played=played, sure=sure)

    def _see_that_it_is_whole(self, shared: _SharedProcess) -> None:
        """Play the side as it is once more; raises _SpoiledError if that shows."""
        try:
            side = shared.loaded(None)
            for at in shared.telling:
                if self.differs(at, side.play(self.worlds(at), at)):
                    raise _SpoiledError(again=True)
        except SideFault as fault:
            raise _SpoiledError(again=fault.kind == SPOILED) from fault


class _SharedProcess:
    """One process, in which changes are loaded one after the other."""

    def __init__(self, sides: ApartSides, steps: int, stack: ExitStack) -> None:
        self._sides = sides
        self._steps = steps
        self._stack = stack
        self._side: SubjectProcess | None = None
        self.loads = 0
        self.telling: dict[int, None] = {}
        """The places of worlds in which a change was noticed in this process."""

    def loaded(self, change: Change | None) -> SubjectProcess:
        """Return it with this change, or with none; raises SideFault."""
        changed = None if change is None else [*change]
        loading = {"change": changed, "steps": self._steps}
        if self._side is None:
            self._side = self._stack.enter_context(self._sides.apart(loading))
        else:
            self._side.load_anew(loading)
        self.loads += 1
        return self._side

    def see(self, fault: SideFault) -> None:
        """Raise _SpoiledError where others have been played in what is over now."""
        over = self._side is not None and not self._side.alive
        if (over and self.loads > 1) or fault.kind == SPOILED:
            raise _SpoiledError(again=fault.kind == SPOILED) from fault
        if over:
            self._side, self.loads, self.telling = None, 0, {}
