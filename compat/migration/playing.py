"""What the judge asks of a side: to play worlds, and to tell what that made it do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from compat.migration.differing import Shown
from compat.verdicts.migration import Exercise, FailedSide
from refengine.testing.scenario import Scenario

Told: TypeAlias = Callable[[str, int, int], None]
"""Is told a phase, how many worlds it has come through, and how many at most."""


def silent(phase: str, worlds: int, most: int) -> None:
    """Tell nobody."""


class PlayError(Exception):
    """A side could not be played."""

    def __init__(self, fault: FailedSide) -> None:
        self.fault = fault
        super().__init__(fault.text)


class Played(Protocol):
    """One world, played."""

    @property
    def jsonl(self) -> str:
        """Its trace as canonical text, which is equal for most pairs."""
        ...


class Player(Protocol):
    """One side; what it does may raise PlayError."""

    def play(self, world: Scenario) -> Played:
        """Play one world."""
        ...

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[Played]:
        """Play many worlds, in this order."""
        ...

    def broken(self, played: Played) -> Sequence[str]:
        """Return the intended effects of this subject that a world lacks."""
        ...

    @property
    def ways(self) -> Sequence[str]:
        """The ways in which its graph can be run; none if it is no graph."""
        ...

    def run_in(self, ways: Sequence[str]) -> None:
        """Run its graph in no other ways than these; in any if there are none."""
        ...

    @property
    def intends(self) -> Sequence[str]:
        """What the subject says it intends."""
        ...

    @property
    def exercise(self) -> Exercise:
        """What all worlds so far made the subject do."""
        ...


Anew: TypeAlias = Callable[[Player], AbstractContextManager[Player]]
"""Opens a side once more, in a process of its own."""


def shown(played: Played) -> Shown:
    """Return what was played by channel."""
    return Shown(played.jsonl)
