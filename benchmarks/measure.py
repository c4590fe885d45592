"""Measuring one side of a pair against the other, in one process and one minute.

A time alone says little, because machines, Pythons and neighbours differ. A ratio of
two sides that take turns says what the engine adds: what slows the machine slows both.
Each round takes one sample of each side, and the sides take turns in going first, since
the second one finds warmer caches. The ratio is the median over rounds, and its spread
the middle half of them, because a sample that the machine interrupted is not news.

A ratio is worth nothing if one side does less of the work: the gate looks first.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from statistics import median, quantiles
from time import get_clock_info, perf_counter, thread_time
from typing import Final, TypeAlias

from benchmarks.parts import SharedParts

SERIES: Final = 5
"""How many times a bar is set up and measured. Where its objects come to lie in memory
can make a side 2 % slower for as long as they live, whatever its code does."""

TIMES: Final = 3
"""How often a side is tried: state left over from one time would show the next."""


class WorkDiffersError(AssertionError):
    """A side made other calls than its bar says, so its time would mean nothing."""

    def __init__(
        self, bar: str, side: str, expected: Mapping[str, int], got: Mapping[str, int]
    ) -> None:
        self.bar = bar
        self.side = side
        self.expected = expected
        self.got = got
        super().__init__(
            f"{bar}: the {side} is not what it is measured as."
            f" Calls wanted: {dict(expected)}; calls made: {dict(got)}"
        )


@dataclass(frozen=True, slots=True)
class MeasuredBar:
    """One pair, and the ratio it is held to; None where it is there for comparison.

    ``number`` is the bar's place in the list of README.md, ``set_up`` makes the pair of
    a kit's parts.
    """

    number: int
    name: str
    limit: float | None
    set_up: Callable[[SharedParts], Awaitable[MeasuredPair]]


async def admit(bar: MeasuredBar) -> None:
    """See that both sides do the work they are measured as; raises WorkDiffersError."""
    tally = Counter[str]()
    pair = await bar.set_up(SharedParts(tally))
    await _try(bar.name, "floor", pair.floor, tally)
    await _try(bar.name, "subject", pair.subject, tally)


async def measured(bar: MeasuredBar, rounds: int) -> Ratio:
    """Admit the bar and measure it; raises WorkDiffersError."""
    await admit(bar)
    taken: list[Round] = []
    for _ in range(SERIES):
        taken += await series(await bar.set_up(SharedParts()), rounds)
    return ratio_of(bar.name, taken, bar.limit)


async def _try(bar: str, name: str, side: MeasuredSide, tally: Counter[str]) -> None:
    for _ in range(TIMES):
        tally.clear()
        await side.work()
        if not side.calls or tally != Counter(side.calls):
            raise WorkDiffersError(bar, name, side.calls, tally)


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
class MeasuredSide:
    """What is awaited over and over.

    ``calls`` is what one call of ``work`` must reach, by which the gate judges it. Its
    time is divided by ``units``, where one call of ``work`` goes through that many.
    """

    work: Work
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    units: int = 1


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """Two sides that are compared: the subject's time is divided by the floor's."""

    floor: MeasuredSide
    subject: MeasuredSide


@dataclass(frozen=True, slots=True)
class Round:
    """One sample of each side, in seconds a unit."""

    floor: float
    subject: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times longer the subject takes; ``low`` to ``high`` is the middle half.

    A ``limit`` of None means that the ratio is shown and not judged. ``floor`` and
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


async def series(
    pair: MeasuredPair, rounds: int, seconds: float = SECONDS
) -> list[Round]:
    """Take that many rounds; finding out how often to repeat a side is its warm-up."""
    sides = (pair.floor, pair.subject)
    return [Round(*times) for times in await turns(sides, rounds, seconds)]


FEWEST: Final = 3
"""Rounds that are taken whatever they cost."""


async def turns(
    sides: Sequence[MeasuredSide],
    rounds: int,
    seconds: float = SECONDS,
    clock: Seconds | None = None,
    budget: float = inf,
) -> list[tuple[float, ...]]:
    """Take one sample of each side a round, in seconds a unit, as the sides stand.

    Each round another side goes first, since the second one finds warmer caches. All
    are timed by the same ``clock``, which is ``CLOCK`` if none is given. After
    ``budget`` seconds there are no more rounds, but for the first ``FEWEST``.
    """
    taken: list[tuple[float, ...]] = []
    with no_collections():
        often = [await repeats(side, seconds, clock) for side in sides]
        end = WALL() + budget
        for turn in range(rounds):
            if turn >= FEWEST and WALL() > end:
                break
            times = [0.0] * len(sides)
            for position in range(len(sides)):
                at = (turn + position) % len(sides)
                times[at] = await sample(sides[at], often[at], clock)
            taken.append(tuple(times))
    return taken


async def sample(side: MeasuredSide, times: int, clock: Seconds | None = None) -> float:
    """Return the seconds a unit of the side takes, over that many repetitions."""
    work, now = side.work, clock or CLOCK
    start = now()
    for _ in range(times):
        await work()
    return (now() - start) / (times * side.units)


async def repeats(
    side: MeasuredSide, seconds: float, clock: Seconds | None = None
) -> int:
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
