"""What comparisons say of a world, and which amount would bring one to its edge.

Two worlds that differ in one amount show how fast the two sides of a comparison move
apart. Where they meet is the edge; the amounts just below, at and just above it are
what a search plays next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor
from typing import Final, TypeAlias

from compat.migration.replies import SidePlayed
from refengine.testing.compare_probes import Seen, Value

Spot: TypeAlias = "tuple[str, int]"
"""A side, and the number of a site."""
NEAR: Final = 0.01
"""Numbers that are not integers are near each other by this share of them."""
EDGES: Final = frozenset(("just below", "equal", "just above"))


def gap_of(entry: Seen) -> float | None:
    """Return how far apart two numbers are that were compared."""
    left, right, _ = entry
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left - right
    return None


def gaps(entries: Sequence[Seen]) -> Mapping[str, float]:
    """Return the gaps of one site that are looked at: the ends and the extremes."""
    found = [gap for each in entries if (gap := gap_of(each)) is not None]
    if not found:
        return {}
    return {
        "first": found[0],
        "last": found[-1],
        "most": max(found),
        "least": min(found),
    }


def kinds_of(entry: Seen) -> Iterator[str]:
    """Yield what one comparison shows of its site."""
    yield f"goes {entry[2]}"
    gap = gap_of(entry)
    if gap is None:
        return
    left, right, _ = entry
    whole = isinstance(left, int) and isinstance(right, int)
    if gap == 0:
        yield "equal"
        return
    yield "below" if gap < 0 else "above"
    size = max(
        abs(float(each)) for each in (left, right) if isinstance(each, (int, float))
    )
    if abs(gap) <= (1 if whole else NEAR * size):
        yield "just below" if gap < 0 else "just above"


@dataclass(slots=True)
class KnownEdges:
    """What all worlds so far have shown: arms taken, and edges met at each site."""

    arms: set[Spot] = field(default_factory=set[Spot])
    kinds: dict[Spot, set[str]] = field(default_factory=dict[Spot, set[str]])
    pairs: set[tuple[Spot, str, Spot, str]] = field(
        default_factory=set[tuple[Spot, str, Spot, str]]
    )

    def learn(self, played: Mapping[str, SidePlayed]) -> int:
        """Take over what a world shows; return how much of it is new.

        A new arm or edge counts ten, and a new pair of outcomes, of sites next to each
        other in the order they were reached, counts one.
        """
        new = 0
        for side, each in played.items():
            arms = {(side, arm) for arm in each.arms} - self.arms
            self.arms |= arms
            new += 10 * len(arms)
            ways: list[tuple[Spot, str]] = []
            for site, entries in each.compared.items():
                kinds = {kind for entry in entries for kind in kinds_of(entry)}
                known = self.kinds.setdefault((side, site), set())
                new += 10 * len(kinds - known)
                known |= kinds
                went = {str(entry[2]) for entry in entries}
                ways.append(((side, site), "/".join(sorted(went))))
            pairs = {(*one, *other) for one, other in pairwise(ways)} - self.pairs
            self.pairs |= pairs
            new += len(pairs)
        return new

    def is_open(self, spot: Spot) -> bool:
        """Tell whether an edge of the numbers compared there was not met yet."""
        kinds = self.kinds.get(spot, set())
        return not kinds >= EDGES


@dataclass(slots=True)
class AmountLine:
    """The worlds that came of one base by one slot, by amount."""

    base: int
    slot: int
    whole: bool
    points: dict[float, Mapping[str, SidePlayed]] = field(
        default_factory=dict[float, Mapping[str, SidePlayed]]
    )
    failed: set[float] = field(default_factory=set[float])

    def proposals(
        self, is_open: Callable[[Spot, int], bool]
    ) -> Iterator[tuple[Spot, float]]:
        """Yield amounts that would bring an open site to its edge, and which one."""
        seen: dict[tuple[Spot, str], list[tuple[float, float]]] = {}
        for amount, played in self.points.items():
            for side, each in played.items():
                for site, entries in each.compared.items():
                    if not is_open((side, site), self.slot):
                        continue
                    for name, gap in gaps(entries).items():
                        seen.setdefault(((side, site), name), []).append((amount, gap))
        for (spot, _), points in seen.items():
            for amount in self._solved(points):
                if amount not in self.points and amount not in self.failed:
                    yield spot, amount

    def _solved(self, points: Sequence[tuple[float, float]]) -> Iterator[float]:
        """Yield the amounts at which a gap would be -1, 0 and 1, by the two nearest."""
        best = sorted(points, key=lambda each: abs(each[1]))
        found = next(
            ((one, other) for one in best for other in best if _moves(one, other)), None
        )
        if found is None:
            return
        (one, first), (other, second) = found
        slope = (second - first) / (other - one)
        for wanted in (0, -1, 1):
            amount = one + (wanted - first) / slope
            some = [floor(amount), ceil(amount), floor(amount) + 1, ceil(amount) - 1]
            exact = [] if self.whole else [round(amount, 6)]
            yield from (
                float(each)
                for each in (*exact, *(some if not wanted else some[:2]))
                if each >= 0
            )


def _moves(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] != other[0] and one[1] != other[1]


def texts_of(value: Value) -> Sequence[str]:
    """Return the texts of one side of a comparison."""
    if isinstance(value, str):
        return [value]
    return (
        [each for each in value if isinstance(each, str)]
        if isinstance(value, list)
        else []
    )
