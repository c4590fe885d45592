"""What two equal sides are told to differ by: nothing nearer is told apart.

An A/A comparison sets the same work up twice and compares it with itself, by the method
of every row. Whatever it shows is the method and the machine, and no handler.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice

from benchmarks.asking import Measurer
from benchmarks.kinds import KINDS
from benchmarks.rows import NotMeasuredError, answer
from benchmarks.specs import Effort, SideSpec, Turned, Turns
from benchmarks.statistics import change, ratio
from compat.verdicts.cost import Change, CostNoise, Estimate

SAMPLED = 4
"""So many A/A comparisons make the band."""


def equal_sides() -> Iterator[SideSpec]:
    """Yield sides to compare with themselves, over and over: runs of every kind."""
    settings = [kind.setting(n) for kind in KINDS.values() for n in (0, 100)]
    yield from cycle([SideSpec("engine", each) for each in settings])


def same(measurer: Measurer, side: SideSpec, effort: Effort) -> Estimate:
    """Return the ratio of a side to itself.

    Raises NotMeasuredError and ChildLostError.
    """
    found = Turned.of(answer(measurer, Turns((side, side), effort).to_json()))
    if found.refused:
        raise NotMeasuredError(found.refused[0][1])
    return ratio(found.series, 1, 0)


def noise(measurer: Measurer, effort: Effort) -> CostNoise:
    """Return the widest of a few A/A comparisons, and the band it makes."""
    found = [same(measurer, side, effort) for side in islice(equal_sides(), SAMPLED)]
    widest = max(found, key=band)
    return CostNoise(ratio=widest, band=band(widest))


def band(found: Estimate) -> float:
    """Return how far from 1 the value lies, or the middle of what its interval allows.

    Half of the interval: the whole of it would call noise what the interval of the row
    itself allows for already.
    """
    return max(abs(found.value - 1), (found.high - found.low) / 4)


def told_apart(
    measurer: Measurer, times: int, effort: Effort
) -> Iterator[tuple[SideSpec, Estimate, Change]]:
    """Yield A/A comparisons, each judged as every row is; raises as ``same``."""
    limit = noise(measurer, effort).band
    for side in islice(equal_sides(), times):
        found = same(measurer, side, effort)
        yield side, found, change(found, limit)
