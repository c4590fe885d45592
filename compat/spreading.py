"""Work that is cut into units: who has some, and who plays them elsewhere.

A unit is JSON, its answer is JSON, and who plays it knows nothing of who asked. What
asks puts the answers in an order of its own, so nothing depends on who was first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

UnitData: TypeAlias = "Mapping[str, Any]"
"""A unit or its answer, as JSON values."""


class Spread(Protocol):
    """Where units are played: on the workers of a cluster."""

    def each(
        self, kind: str, units: Iterable[UnitData]
    ) -> Iterator[tuple[int, UnitData]]:
        """Yield the place of each unit and its answer, as they come.

        Units are taken as workers get free for them, so there may be any number.
        Raises RefusedUnitError.
        """
        ...


class RefusedUnitError(ValueError):
    """A unit that could not be played: a mistake in what was given, as elsewhere."""


class OtherFilesError(RefusedUnitError):
    """A worker has other files than who asks, or none."""

    def __init__(self, what: object) -> None:
        super().__init__(
            f"{what}: a worker has other files there, or none: let all machines see the"
            " same folder at the same place"
        )


def in_order(
    spread: Spread, kind: str, units: Iterable[UnitData]
) -> Iterator[UnitData]:
    """Yield the answers in the order of their units, each as soon as it can be."""
    early: dict[int, UnitData] = {}
    first = 0
    for at, answer in spread.each(kind, units):
        early[at] = answer
        while first in early:
            yield early.pop(first)
            first += 1


def answers(
    spread: Spread | None,
    kind: str,
    play: Callable[[UnitData], UnitData],
    units: Iterable[UnitData],
) -> Iterator[UnitData]:
    """Yield the answers in the order of their units, played here without a spread."""
    return map(play, units) if spread is None else in_order(spread, kind, units)


@contextmanager
def other_threads_draw() -> Generator[None, None, None]:
    """Do not warn of random numbers that dask's threads draw while worlds are drawn.

    Hypothesis takes them for numbers that a strategy draws; ours draw none there.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Do not use the `random` module")
        yield
