"""Measuring one side of a pair against the other, in one process and one minute.

A time alone says little, because machines, Pythons and neighbours differ. A ratio of two
sides that take turns says what the engine adds: what slows the machine slows both. Each
round takes one sample of each side, and the sides take turns in going first, since the
second one finds warmer caches. The ratio is the median over rounds, and its spread is
the middle half of them, because a sample that the machine interrupted is no news.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median, quantiles
from time import perf_counter
from typing import Final, TypeAlias

Work: TypeAlias = Callable[[], Awaitable[object]]

ROUNDS: Final = 60
SECONDS: Final = 0.01
"""How long one sample takes at least; a clock and a loop are not free either."""


class UnpairedError(ValueError):
    """Samples that do not come in pairs, or fewer than two of them."""

    def __init__(self, floors: int, subjects: int) -> None:
        super().__init__(
            f"{floors} floor and {subjects} subject samples:"
            " take one of each a round, and two rounds at least"
        )


@dataclass(frozen=True, slots=True)
class Side:
    """What is awaited over and over.

    Its time is divided by ``units``, where one call of ``work`` goes through that many.
    ``calls`` is what one call of ``work`` must reach, by which a gate judges it.
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
class Ratio:
    """How many times longer the subject takes; ``low`` to ``high`` is the middle half.

    A ``limit`` of None means that the ratio is told and not judged. ``floor`` and
    ``subject`` are the medians of both sides in seconds a unit.
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


def ratio_of(
    name: str,
    floors: Sequence[float],
    subjects: Sequence[float],
    limit: float | None = None,
) -> Ratio:
    """Return the ratio of samples that were taken in pairs; raises UnpairedError."""
    if len(floors) != len(subjects) or len(floors) < 2:
        raise UnpairedError(len(floors), len(subjects))
    ratios = [
        subject / floor for floor, subject in zip(floors, subjects, strict=True)
    ]
    low, middle, high = quantiles(ratios, n=4, method="inclusive")
    return Ratio(name, middle, low, high, limit, median(floors), median(subjects))


async def compare(
    name: str,
    pair: Pair,
    limit: float | None = None,
    *,
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
) -> Ratio:
    """Measure a pair; finding out how often to repeat each side is its warm-up."""
    floors: list[float] = []
    subjects: list[float] = []
    with _no_collections():
        floor_times = await repeats(pair.floor, seconds)
        subject_times = await repeats(pair.subject, seconds)
        for turn in range(rounds):
            order = [
                (pair.floor, floor_times, floors),
                (pair.subject, subject_times, subjects),
            ]
            for side, times, samples in order if turn % 2 else reversed(order):
                gc.collect()
                samples.append(await sample(side, times))
    return ratio_of(name, floors, subjects, limit)


async def sample(side: Side, times: int) -> float:
    """Return the seconds a unit of the side takes, over that many repetitions."""
    work = side.work
    start = perf_counter()
    for _ in range(times):
        await work()
    return (perf_counter() - start) / (times * side.units)


async def repeats(side: Side, seconds: float) -> int:
    """Return how often to repeat the side for a sample of that length, once warm."""
    times = 1
    while (took := await sample(side, times) * times * side.units) < seconds:
        grown = seconds / took if took else 2.0
        times = max(times + 1, int(times * min(grown, 10.0)))
    return times


@contextmanager
def _no_collections() -> Iterator[None]:
    """Keep the garbage collector out of the samples; it runs between them.

    What lives before is set aside, since walking it would take longer than a sample.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
