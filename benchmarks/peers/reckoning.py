"""From the samples of a child to what a hook costs.

Each set-up gives one number of each kind, and the interval is laid through those, as
everywhere here (``benchmarks.statistics``). The line is laid from the first handler on:
what a framework takes for having any, such as a node of its graph, shows in the points
and not in the slope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, Final, TypeAlias

from benchmarks.statistics import interval, medians, ratio
from compat.verdicts.cost import Estimate, GrowthPoint

SetUp: TypeAlias = Mapping[int, Sequence[Sequence[float]]]
"""The rounds of one set-up by number of handlers, each a sample of every side."""
BARE: Final = 0
OURS: Final = 1
PEER: Final = 2


def set_ups(series: Sequence[Sequence[Any]]) -> list[SetUp]:
    """Return what a child sent, by number of handlers."""
    return [dict(each) for each in series]


def costs(series: Sequence[SetUp]) -> dict[str, Any]:
    """Return the numbers of a ``PeerCost``, by field.

    Raises TooFewSetUpsError, and MissingExtraError without the extra.
    """
    base = [each[0] for each in series]
    lines = [[slope(each, side) for side in (BARE, OURS, PEER)] for each in series]
    points = _points(series)
    return {
        "base_seconds": points[0].seconds,
        "base_over_bare": ratio(base, PEER, BARE),
        "base_over_ours": ratio(base, PEER, OURS),
        "per_handler": interval([line[PEER] for line in lines]),
        "over_bare": _over(lines, BARE),
        "over_ours": _over(lines, OURS),
        "points": points,
    }


def slope(set_up: SetUp, side: int) -> float:
    """Return the seconds that one more handler adds to a run of a side.

    A line through the medians from the first handler on, each with the weight of its
    relative error: a long run is as sure as a short one, in per cent.
    """
    at = [(n, medians(rounds)[side]) for n, rounds in set_up.items() if n]
    weights = [1 / seconds**2 for _, seconds in at]
    total = sum(weights)
    x = sum(w * n for w, (n, _) in zip(weights, at, strict=True)) / total
    y = sum(w * t for w, (_, t) in zip(weights, at, strict=True)) / total
    both = sum(w * (n - x) * (t - y) for w, (n, t) in zip(weights, at, strict=True))
    return both / sum(w * (n - x) ** 2 for w, (n, _) in zip(weights, at, strict=True))


def _over(lines: Sequence[Sequence[float]], floor: int) -> Estimate | None:
    """Return the peer's slope over another side's; None where that has none."""
    if fmean(line[floor] for line in lines) <= 0:
        return None
    return interval([line[PEER] / line[floor] for line in lines])


def _points(series: Sequence[SetUp]) -> tuple[GrowthPoint, ...]:
    found: list[GrowthPoint] = []
    for n in series[0]:
        times = [medians(each[n]) for each in series]
        bare, peer = (median(each[side] for each in times) for side in (BARE, PEER))
        found.append(GrowthPoint(n=n, seconds=peer, bare_seconds=bare))
    return tuple(found)
