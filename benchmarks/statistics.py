"""How sure a number is: intervals that hold with 99 %, from samples of several set-ups.

Rounds of one set-up are not independent samples: where its objects came to lie in
memory can make a side 2 % slower for as long as they live. So each set-up gives one
number, the median over its rounds, and an interval is laid through those by Student's
t. ``refengine bench same`` shows how often equal sides are told apart by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from math import exp, log, sqrt
from statistics import fmean, median, stdev
from typing import Any, Final, TypeAlias

from compat.verdicts.cost import CONFIDENCE, Change, Estimate
from refengine.testing.world import WorldExtraError

EXTRA: Final = "bench"


def scipy_special() -> Any:  # noqa: ANN401  # a module without types
    """Return ``scipy.special``; raises WorldExtraError.

    ``scipy.stats`` takes longer to import, and has no more that is needed here.
    """
    return _loaded("scipy.special")


def scipy_optimize() -> Any:  # noqa: ANN401  # as above
    """Return ``scipy.optimize``; raises WorldExtraError."""
    return _loaded("scipy.optimize")


def drawing() -> None:
    """Look whether plots can be drawn; raises WorldExtraError."""
    _loaded("matplotlib")


def _loaded(name: str) -> Any:  # noqa: ANN401  # as above
    try:
        return import_module(name)
    except ImportError as error:
        raise WorldExtraError("refengine bench", EXTRA, error) from error


Series: TypeAlias = Sequence[Sequence[float]]
"""The rounds of one set-up, each with the seconds of every side."""
SETS: Final = 3
"""An interval through fewer set-ups is wider than whatever it would tell."""


class TooFewSetUpsError(ValueError):
    """An interval was asked for of too few set-ups."""

    def __init__(self, given: int) -> None:
        super().__init__(f"{given} set-ups give no interval: take {SETS} at least")


def ratio(series: Sequence[Series], subject: int, floor: int) -> Estimate:
    """Return how many times longer one side takes than another, by their places.

    Raises TooFewSetUpsError, and WorldExtraError without the extra.
    """
    logs = [
        log(median(times[subject] / times[floor] for times in rounds))
        for rounds in series
    ]
    found = interval(logs)
    return Estimate(value=exp(found.value), low=exp(found.low), high=exp(found.high))


def difference(series: Sequence[Series], subject: int, floor: int) -> Estimate:
    """Return how many seconds longer one side takes than another; raises as ratio."""
    return interval(
        [median(times[subject] - times[floor] for times in rounds) for rounds in series]
    )


def seconds(series: Sequence[Series], side: int) -> float:
    """Return what a side takes: the median over all rounds of all set-ups."""
    return median(times[side] for rounds in series for times in rounds)


def over_set_ups(
    series: Sequence[Series], of: Callable[[Sequence[float]], float]
) -> Estimate:
    """Return an estimate of what is computed from each set-up's median times.

    ``of`` is given the median seconds of every side. Raises as ``ratio``.
    """
    return interval([of(medians(rounds)) for rounds in series])


def medians(rounds: Series) -> tuple[float, ...]:
    """Return the median seconds of every side of one set-up."""
    return tuple(median(times) for times in zip(*rounds, strict=True))


def interval(values: Sequence[float]) -> Estimate:
    """Return the mean and its interval by Student's t; raises TooFewSetUpsError."""
    if len(values) < SETS:
        raise TooFewSetUpsError(len(values))
    quantile = scipy_special().stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)
    middle = fmean(values)
    half = float(quantile) * stdev(values, middle) / sqrt(len(values))
    return Estimate(value=middle, low=middle - half, high=middle + half)


def change(found: Estimate, band: float) -> Change:
    """Tell a ratio from 1, if its interval and the noise of the process allow it.

    ``band`` is how far from 1 two equal sides were seen, as a share.
    """
    if found.low > 1 and found.value > 1 + band:
        return "dearer"
    if found.high < 1 and found.value < 1 - band:
        return "cheaper"
    return "not distinguishable"
