"""Both sides in one world: whether they differ, how it is named, and what is noise.

``SideRunner`` is what is needed of a side for that: to play worlds, and to report what
they made it do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol, TypeAlias

from compat.migration.differing import Mask, TraceChannels, broken, differences
from compat.migration.naming import first_in_time, named
from compat.migration.shrinking import TRIES
from compat.verdicts.migration import (
    DescribedDivergence,
    Exercise,
    FailedSide,
    Noise,
    Side,
)
from refengine.testing.channels import CHANNELS
from refengine.testing.scenario import Scenario

Progress: TypeAlias = Callable[[str, int, int], None]
"""Hears of a phase, how many worlds it has come through, and how many at most."""


def silent(phase: str, worlds: int, most: int) -> None:
    """Tell nobody."""


class PlayError(Exception):
    """A side could not be played."""

    def __init__(self, fault: FailedSide) -> None:
        self.fault = fault
        super().__init__(fault.text)


class TracedWorld(Protocol):
    """One world, played."""

    @property
    def jsonl(self) -> str:
        """Its trace as canonical text, which is equal for most pairs."""
        ...


class SideRunner(Protocol):
    """One side; what it does may raise PlayError."""

    def play(self, world: Scenario) -> TracedWorld:
        """Play one world."""
        ...

    def play_all(self, worlds: Sequence[Scenario]) -> Iterator[TracedWorld]:
        """Play many worlds, in this order."""
        ...

    def broken(self, played: TracedWorld) -> Sequence[str]:
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


Anew: TypeAlias = Callable[[SideRunner], AbstractContextManager[SideRunner]]
"""Opens a side once more, in a process of its own."""


def by_channel(played: TracedWorld) -> TraceChannels:
    """Return what was played by channel."""
    return TraceChannels(played.jsonl)


SESSIONS: Final = 3
"""So often a side plays a world, to tell noise from differences."""


def everything(_: Scenario) -> bool:
    """Tell that any world will do."""
    return True


@dataclass(slots=True)
class SidePair:
    """Two sides that are played in one world after the other."""

    old: SideRunner
    new: SideRunner
    masks: Sequence[Mask]
    progress: Progress
    anew: Anew
    fits: Callable[[Scenario], bool] = everything
    steady: Sequence[str] = tuple(CHANNELS)
    tried: int = 0

    def differs(self, world: Scenario, channels: Sequence[str]) -> bool:
        """Tell whether the sides differ; one that cannot be played shows nothing."""
        if not self.fits(world):
            return False
        self.tried += 1
        self.progress("shrinking", self.tried, TRIES)
        try:
            sides = by_channel(self.old.play(world)), by_channel(self.new.play(world))
        except PlayError:
            return False
        return bool(broken(*sides, channels, self.masks))

    def explained(
        self, world: Scenario, channels: Sequence[str], volatile: Sequence[Mask]
    ) -> tuple[tuple[Noise, ...], DescribedDivergence | None]:
        """Return the fields in which a side differs from itself in this world, if any.

        Else the first difference in time between the sides, in these channels, named.
        """
        old = self._sessions(self.old, world)
        new = self._sessions(self.new, world)
        noise = [*noise_between("old", old, volatile, self.steady)]
        noise += noise_between("new", new, volatile, self.steady)
        sides = by_channel(old[0]), by_channel(new[0])
        found = differences(*sides, channels, self.masks)
        if not noise and not found:  # they differed when the world was looked for
            noise = [Noise("new", channels[0], "[*]", ("differs", "does not"))]
        if noise:
            return unique(noise), None
        return (), named(first_in_time(found), *sides)

    def _sessions(self, player: SideRunner, world: Scenario) -> list[TracedWorld]:
        """Play a world in this process, and in a new one, which remembers nothing."""
        played = [player.play(world) for _ in range(SESSIONS)]
        with self.anew(player) as other:
            return [*played, other.play(world)]


def noise_between(
    side: Side,
    played: Iterable[TracedWorld],
    volatile: Sequence[Mask],
    channels: Sequence[str] = tuple(CHANNELS),
) -> Iterator[Noise]:
    """Yield each field in which sessions of one side in one world differ."""
    for first, other in pairwise(map(by_channel, played)):
        for each in differences(first, other, channels, volatile):
            path = re.sub(r"\[\d+\]", "[*]", each.path)
            yield Noise(side, each.channel, path, (each.old, each.new))


def unique(found: Iterable[Noise]) -> tuple[Noise, ...]:
    """Return the first of each field."""
    first = {(each.side, each.channel, each.path): each for each in [*found][::-1]}
    return tuple(first.values())[::-1]
