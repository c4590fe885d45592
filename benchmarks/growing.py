"""How a run grows with its handlers: the slope, and the shape that fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from statistics import fmean
from types import MappingProxyType
from typing import Final

from benchmarks.kinds import HandlerKind
from benchmarks.measurer import Measurer
from benchmarks.rows import memory_of, taken
from benchmarks.specs import Effort, SideSpec, TurnsReply
from benchmarks.statistics import over_set_ups, scipy_optimize, seconds
from compat.verdicts.cost import (
    SHAPES,
    Blocked,
    Estimate,
    Fit,
    Growth,
    GrowthPoint,
    Shape,
)

TERMS: Final[Mapping[Shape, Callable[[int], float]]] = MappingProxyType(
    {
        "constant": lambda _: 0.0,
        "linear": float,
        "n log n": lambda n: n * log(n) if n else 0.0,
        "quadratic": lambda n: float(n) * n,
    }
)
AS_WELL: Final = 1.5
"""A simpler shape fits as well if its error is at most so many times the smallest."""
MEMORY: Final = (10, 100)
"""Handlers between which the memory of one more is measured."""
CLOSE: Final = 0.02
"""An error below this is noise, whatever fits better still."""


def growth(
    measurer: Measurer,
    name: str,
    ours: Sequence[SideSpec],
    bare: Sequence[SideSpec],
    effort: Effort,
    count: Callable[[SideSpec], int] = lambda side: side.setting.n,
) -> Growth:
    """Measure a run with more and more handlers, beside those by hand that can run.

    ``count`` tells of how many a side is made.
    """
    found = taken(measurer, (*ours, *bare), effort)
    if isinstance(found, Blocked):
        return Growth(name=name, points=(), slope=None, blocked=found)
    mine = [at for at in range(len(ours)) if at not in found.refused]
    if len({count(ours[at]) for at in mine}) < len(TERMS):
        blocked = _why(found) or Blocked(why=f"{len(TERMS)} points make a shape")
        return Growth(name=name, points=(), slope=None, blocked=blocked)
    theirs = [
        at for at in range(len(ours), len(ours) + len(bare)) if at in found.positions
    ]
    times = {count(ours[at]): seconds(found.series, found.column(at)) for at in mine}
    by_hand = {
        count(bare[at - len(ours)]): seconds(found.series, found.column(at))
        for at in theirs
    }
    fits = fits_of(times)
    slope = _slope(found, {at: count(ours[at]) for at in mine})
    points = tuple(
        GrowthPoint(n=n, seconds=took, bare_seconds=by_hand.get(n))
        for n, took in times.items()
    )
    return Growth(
        name=name,
        points=points,
        slope=slope,
        bare_slope=_slope(found, {at: count(bare[at - len(ours)]) for at in theirs})
        if len(theirs) > 1
        else None,
        fits=fits,
        shape=simplest(fits, slope),
        blocked=_why(found) if len(mine) < len(ours) else None,
    )


def memory_slope(measurer: Measurer, kind: HandlerKind) -> float | None:
    """Return the bytes that one more handler adds to the peak; None if untold."""
    few, many = MEMORY
    found = [
        memory_of(measurer, SideSpec("engine", kind.setting(n))) for n in (few, many)
    ]
    if found[0] is None or found[1] is None:
        return None
    return (found[1].peak - found[0].peak) / (many - few)


def fits_of(times: Mapping[int, float]) -> tuple[Fit, ...]:
    """Lay every shape through the times by n, in seconds; raises WorldExtraError."""
    return tuple(Fit(shape=shape, error=_error(shape, times)) for shape in SHAPES)


def simplest(fits: Sequence[Fit], slope: Estimate | None = None) -> Shape:
    """Return the simplest shape that fits about as well as the best one.

    Where the interval of the ``slope`` lies above 0 it is not "constant", however
    little a few more handlers add to a run.
    """
    grows = slope is not None and slope.low > 0
    reported = [each for each in fits if not (grows and each.shape == "constant")]
    enough = max(AS_WELL * min(each.error for each in reported), CLOSE)
    return next(each.shape for each in reported if each.error <= enough)


def line(times: Mapping[int, float]) -> tuple[float, float]:
    """Return what nothing costs, and one more: a line by relative least squares."""
    start, more = _laid("linear", times)
    return start, more


def _slope(found: TurnsReply, counts: Mapping[int, int]) -> Estimate:
    columns = {found.column(at): n for at, n in counts.items()}

    def of(medians: Sequence[float]) -> float:
        return line({n: medians[column] for column, n in columns.items()})[1]

    return over_set_ups(found.series, of)


def _error(shape: Shape, times: Mapping[int, float]) -> float:
    start, more = _laid(shape, times)
    term = TERMS[shape]
    return fmean(abs(start + more * term(n) - took) / took for n, took in times.items())


def _laid(shape: Shape, times: Mapping[int, float]) -> tuple[float, float]:
    """Lay a shape through the points; each counts by its own size, none is negative."""
    term = TERMS[shape]
    rows = [[1 / took, term(n) / took] for n, took in times.items()]
    scale = max(row[1] for row in rows) or 1.0
    found, _ = scipy_optimize().nnls(
        [[one, x / scale] for one, x in rows], [1.0] * len(rows)
    )
    return float(found[0]), float(found[1]) / scale


def _why(found: TurnsReply) -> Blocked | None:
    for clause, why in found.refused.values():
        return Blocked(clause=clause, why=why)
    return None
