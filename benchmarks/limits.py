"""The bars: what has to hold, each as a ratio and the most it may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log10
from typing import Final

from compat.verdicts.cost import Bar, Cost, Growth, PeerCost

ADAPTED: Final = 1.3
BASE: Final = 0.1
HOOK: Final = 1.0
EXPONENT: Final = 1.25
"""1 is linear, 2 quadratic. Above 1 stays what processors do: 10,000 handlers do not
fit the caches that 1,000 do, and a bare loop over them slows down alike."""
DECADE: Final = (1_000, 10_000)


def bars(
    costs: Sequence[Cost], growth: Sequence[Growth], peers: Sequence[PeerCost]
) -> Iterator[Bar]:
    """Yield the bars; those that were not measured say so."""
    yield _worst(
        "adapted struct middleware over native, a run",
        ADAPTED,
        _adapted(costs),
        "no row compares them",
    )
    yield _worst(
        "growth from 1,000 to 10,000 handlers, its exponent",
        EXPONENT,
        _exponents(growth),
        "a quick run ends at 1,000 handlers",
    )
    why = "no peer was measured"
    yield _worst("base run over the fastest peer's", BASE, _bases(peers), why)
    name = "a hook over a peer's, where it is more than a loop by hand"
    yield _worst(name, HOOK, _hooks(peers), why)


def _worst(
    name: str, limit: float, found: Iterable[tuple[str, float]], why: str
) -> Bar:
    worst = max(found, key=lambda each: each[1], default=None)
    if worst is None:
        return Bar(name=name, ratio=None, limit=limit, holds=None, why=why)
    where, ratio = worst
    return Bar(name=name, ratio=ratio, limit=limit, holds=ratio <= limit, why=where)


def _adapted(costs: Iterable[Cost]) -> Iterator[tuple[str, float]]:
    for cost in costs:
        if cost.section == "forms" and cost.name.endswith("adapted"):
            for each in cost.compared:
                if each.floor == "native":
                    yield cost.name, each.ratio.value


def _exponents(growth: Iterable[Growth]) -> Iterator[tuple[str, float]]:
    for each in growth:
        times = {point.n: point.seconds for point in each.points}
        first, last = DECADE
        if first in times and last in times and 0 in times:
            few, many = times[first] - times[0], times[last] - times[0]
            if few > 0 and many > 0:  # else handlers cost nothing that was seen
                yield each.name, log10(many / few) / log10(last / first)


def _bases(peers: Iterable[PeerCost]) -> Iterator[tuple[str, float]]:
    for each in peers:
        if each.base_over_ours is not None:
            yield each.peer, 1 / each.base_over_ours.value


def _hooks(peers: Iterable[PeerCost]) -> Iterator[tuple[str, float]]:
    """Yield ours over theirs, where anything of theirs is in it.

    What is not told apart from bare Python is a loop that the user wrote inside one
    hook, as with LangGraph: no framework carries those functions.
    """
    for each in peers:
        ours, bare = each.over_ours, each.over_bare
        if ours is None or bare is None or ours.low <= 0 or bare.low <= 1:
            continue
        yield f"{each.peer}: {each.hook}", 1 / ours.value
