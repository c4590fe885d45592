"""Setting sides up again and again, and letting them take turns each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.making import Maker
from benchmarks.measure import CLOCK, WALL, turns
from benchmarks.parts import Kit
from benchmarks.specs import Effort, SideSpec

WAITS: Final = 0.3
"""A subject waits if its thread does not work for this share of a run: less may be the
machine's part."""
BUDGET: Final = 60.0
"""Seconds for the rounds of all set-ups, half of what the parent of the child waits;
slow work gets fewer rounds a set-up, of which ``FEWEST`` have a median."""
FEWEST: Final = 2


def is_waiting(waited: float) -> bool:
    """Tell whether a side waits, by the share of its time that ``Maker.admit`` gave."""
    return waited > WAITS and CLOCK is not WALL


async def set_ups(
    maker: Maker, sides: Sequence[SideSpec], effort: Effort, *, waits: bool
) -> list[list[tuple[float, ...]]]:
    """Return the rounds of every set-up, each with the seconds of all sides.

    The sides were admitted before; where one ``waits`` the clock is the wall's. Raises
    what setting a side up raises.
    """
    series: list[list[tuple[float, ...]]] = []
    rounds, clock = effort.rounds, WALL if waits else CLOCK
    for _ in range(effort.sets):
        began = WALL()
        made = [await maker.made(side, Kit()) for side in sides]
        series.append(await turns(made, rounds, effort.seconds, clock))
        if (all_of_it := (WALL() - began) * effort.sets) > BUDGET:
            rounds = max(FEWEST, int(rounds * BUDGET / all_of_it))
    return series
