"""Three sides in turn: the run by hand, our engine, and another framework.

As ``benchmarks.measure`` takes two. The clock is the whole process's, since a framework
may do its work in threads of its own; what neighbours on the machine took stays out.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from statistics import median
from time import get_clock_info, perf_counter, process_time
from typing import Final, NamedTuple

from benchmarks.measure import Work

_FINE: Final = 1e-6
CLOCK: Final = (
    process_time if get_clock_info("process_time").resolution <= _FINE else perf_counter
)
FEWEST: Final = 3
"""Rounds that are taken whatever they cost."""


class Turn(NamedTuple):
    """One sample of each side, in seconds a run."""

    bare: float
    ours: float
    peer: float


async def turns(
    sides: tuple[Work, Work, Work], rounds: int, sample: float, budget: float
) -> list[Turn]:
    """Take up to so many rounds, fewer if they go beyond the budget.

    ``sample`` and ``budget`` are seconds: of one sample at least, of all together.
    Each round another side goes first. No garbage is collected meanwhile, which spares
    a framework that leaves much of it.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        often = [await _often(side, sample) for side in sides]
        end = perf_counter() + budget
        taken: list[Turn] = []
        while len(taken) < FEWEST or (len(taken) < rounds and perf_counter() < end):
            taken.append(await _round(sides, often, len(taken)))
        return taken
    finally:
        if was_enabled:
            gc.enable()


async def once(work: Work) -> float:
    """Return the seconds of one run, once warm."""
    await work()
    return median([await _sample(work, 1) for _ in range(FEWEST)])


async def _round(sides: Sequence[Work], often: Sequence[int], first: int) -> Turn:
    took = [0.0] * len(sides)
    for offset in range(len(sides)):
        at = (first + offset) % len(sides)
        took[at] = await _sample(sides[at], often[at])
    return Turn(*took)


async def _sample(work: Work, times: int) -> float:
    start = CLOCK()
    for _ in range(times):
        await work()
    return (CLOCK() - start) / times


async def _often(work: Work, seconds: float) -> int:
    """Return how often to run for a sample of that length, once warm."""
    times = 1
    while (took := await _sample(work, times) * times) < seconds:
        missing = seconds / took if took else 10.0
        times = max(times + 1, int(times * min(missing, 10.0)))
    return times
