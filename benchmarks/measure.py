"""Measuring one side of a pair against the other, in one process and one minute.

A time alone says little, because machines, Pythons and neighbours differ. A ratio of
two sides that take turns says what the engine adds: what slows the machine slows both.
Each round takes one sample of each side, and the sides take turns in going first, since
the second one finds warmer caches. The ratio is the median over rounds, and its spread
the middle half of them, because a sample that the machine interrupted is no news.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median, quantiles
from time import get_clock_info, perf_counter, thread_time
from typing import Final, TypeAlias

Work: TypeAlias = Callable[[], Awaitable[object]]
Seconds: TypeAlias = Callable[[], float]
"""A clock."""

_FINE: Final = 1e-6
CLOCK: Final = (
    thread_time if get_clock_info("thread_time").resolution <= _FINE else perf_counter
)
"""Nothing of ours that is measured waits, so the thread's own time leaves out only what
neighbours on the machine took. Where that clock is coarse, the wall's is used, as it is
for a user's handlers that wait or have other threads work."""
WALL: Final = perf_counter

SECONDS: Final = 0.005
"""How long one sample takes at least; a clock and a loop are not free either."""
PATIENCE: Final = 20
"""A sample takes no more than so many times its length of the wall's time: for work
that mostly waits, the thread's own clock hardly moves."""


class TooFewRoundsError(ValueError):
    """A median and a spread of fewer than two rounds."""

    def __init__(self, rounds: int) -> None:
        super().__init__(f"{rounds} rounds have no spread: take two at least")


@dataclass(frozen=True, slots=True)
class Side:
    """What is awaited over and over.

    ``calls`` is what one call of ``work`` must reach, by which the gate judges it. Its
    time is divided by ``units``, where one call of ``work`` goes through that many.
    """

    work: Work
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    units: int = 1


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides that are compared: the subject's time is divided by the floor's."""

    floor: Side
    subject: Side


@dataclass(frozen=True, slots=True)
class Round:
    """One sample of each side, in seconds a unit."""

    floor: float
    subject: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times longer the subject takes; ``low`` to ``high`` is the middle half.

    A ``limit`` of None means that the ratio is told and not judged. ``floor`` and
    ``subject`` are the medians of both sides, in seconds a unit.
    """

    name: str
    ratio: float
    low: float
    high: float
    limit: float | None
    floor: float = 0.0
    subject: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the limit is kept, by the median."""
        return self.limit is None or self.ratio <= self.limit


def ratio_of(name: str, rounds: Sequence[Round], limit: float | None = None) -> Ratio:
    """Return the ratio that the rounds show; raises TooFewRoundsError."""
    if len(rounds) < 2:
        raise TooFewRoundsError(len(rounds))
    ratios = [each.subject / each.floor for each in rounds]
    low, middle, high = quantiles(ratios, n=4, method="inclusive")
    floor = median(each.floor for each in rounds)
    subject = median(each.subject for each in rounds)
    return Ratio(name, middle, low, high, limit, floor, subject)


async def series(pair: Pair, rounds: int, seconds: float = SECONDS) -> list[Round]:
    """Take that many rounds; finding out how often to repeat a side is its warm-up."""
    sides = (pair.floor, pair.subject)
    return [Round(*times) for times in await turns(sides, rounds, seconds)]


async def turns(
    sides: Sequence[Side],
    rounds: int,
    seconds: float = SECONDS,
    clock: Seconds | None = None,
) -> list[tuple[float, ...]]:
    """Take one sample of each side a round, in seconds a unit, as the sides stand.

    Each round another side goes first, since the second one finds warmer caches. All
    are timed by the same ``clock``, which is ``CLOCK`` if none is given.
    """
    taken: list[tuple[float, ...]] = []
    with no_collections():
        often = [await repeats(side, seconds, clock) for side in sides]
        for turn in range(rounds):
            times = [0.0] * len(sides)
            for place in range(len(sides)):
                at = (turn + place) % len(sides)
                times[at] = await sample(sides[at], often[at], clock)
            taken.append(tuple(times))
    return taken


async def sample(side: Side, times: int, clock: Seconds | None = None) -> float:
    """Return the seconds a unit of the side takes, over that many repetitions."""
    work, now = side.work, clock or CLOCK
    start = now()
    for _ in range(times):
        await work()
    return (now() - start) / (times * side.units)


async def repeats(side: Side, seconds: float, clock: Seconds | None = None) -> int:
    """Return how often to repeat the side for a sample of that length, once warm."""
    times, began = 1, WALL()
    while (took := await sample(side, times, clock) * times * side.units) < seconds:
        if WALL() - began > PATIENCE * seconds:
            break
        missing = seconds / took if took else 10.0
        times = max(times + 1, int(times * min(missing, 10.0)))
        began = WALL()
    return times


@contextmanager
def no_collections() -> Generator[None]:
    """Keep the garbage collector out of a whole series.

    Not even between samples: a collection empties Python's free lists, and the sides do
    not recover from that alike. One and the same run was up to 3 % slower than itself
    with it. A run of the engine leaves no cycles that would pile up meanwhile.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
