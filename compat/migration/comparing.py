"""Both sides in one world: whether they differ, how it is named, and what is noise."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from compat.migration.differing import Mask, broken, differences
from compat.migration.naming import first_in_time, named
from compat.migration.playing import Anew, Played, Player, PlayError, Told, shown
from compat.migration.shrinking import TRIES
from compat.verdicts.migration import DescribedDivergence, Noise, Side
from refengine.testing.channels import CHANNELS
from refengine.testing.scenario import Scenario

SESSIONS: Final = 3
"""So often a side plays a world, to tell noise from differences."""


def everything(_: Scenario) -> bool:
    """Tell that any world will do."""
    return True


@dataclass(slots=True)
class Pair:
    """Two sides that are played in one world after the other."""

    old: Player
    new: Player
    masks: Sequence[Mask]
    told: Told
    anew: Anew
    fits: Callable[[Scenario], bool] = everything
    steady: Sequence[str] = tuple(CHANNELS)
    tried: int = 0

    def differs(self, world: Scenario, channels: Sequence[str]) -> bool:
        """Tell whether the sides differ; one that cannot be played shows nothing."""
        if not self.fits(world):
            return False
        self.tried += 1
        self.told("shrinking", self.tried, TRIES)
        try:
            sides = shown(self.old.play(world)), shown(self.new.play(world))
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
        sides = shown(old[0]), shown(new[0])
        found = differences(*sides, channels, self.masks)
        if not noise and not found:  # they differed when the world was looked for
            noise = [Noise("new", channels[0], "[*]", ("differs", "does not"))]
        if noise:
            return unique(noise), None
        return (), named(first_in_time(found), *sides)

    def _sessions(self, player: Player, world: Scenario) -> list[Played]:
        """Play a world in this process, and in a new one, which remembers nothing."""
        played = [player.play(world) for _ in range(SESSIONS)]
        with self.anew(player) as other:
            return [*played, other.play(world)]


def noise_between(
    side: Side,
    played: Iterable[Played],
    volatile: Sequence[Mask],
    channels: Sequence[str] = tuple(CHANNELS),
) -> Iterator[Noise]:
    """Yield each field in which sessions of one side in one world differ."""
    for first, other in pairwise(map(shown, played)):
        for each in differences(first, other, channels, volatile):
            path = re.sub(r"\[\d+\]", "[*]", each.path)
            yield Noise(side, each.channel, path, (each.old, each.new))


def unique(found: Iterable[Noise]) -> tuple[Noise, ...]:
    """Return the first of each field."""
    first = {(each.side, each.channel, each.path): each for each in [*found][::-1]}
    return tuple(first.values())[::-1]
