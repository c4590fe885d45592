"""Generated worlds of a corpus: Hypothesis draws them, always the same for a seed.

Needs the extra ``testing``. Nothing but the seed and the version of Hypothesis decides
what is drawn: not which modules are loaded, nor where the project is installed. Worlds
around a fixed case keep all that the case has, and neighbours join it (``grafting``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import Any, Final

from property_tests.corpus import (
    CANCELLING,
    RETRYING,
    STOPPING,
    CorpusWorld,
    narrowed,
)
from property_tests.drawing import drawn
from property_tests.grafting import Neighbours, graft, neighbours
from refengine.testing.strategies import scenarios

FAMILIES: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "plain": {},
        "failures": {"failures": True},
        "everything": {"failures": True, "unknown_calls": True, "counting": True},
        "distributing": {"distributes": True},
        "distributing failures": {"distributes": True, "failures": True},
        "unknown calls": {"unknown_calls": True},
        "structs": {"handlers": False, "tool_call_middlewares": False},
        "handlers": {"middlewares": False, "tool_call_middlewares": False},
        "threads": {"max_runs": 4, "counting": True},
        "options": {"options": True},
        "asking again": {"retry": True, "options": True, "small": True},
        "stopping": {"asks": True, "options": True, "small": True, "max_runs": 1},
        "cancelled": {"cancels": True, "small": True},
    }
)
"""The choices of ``scenarios`` that worlds are drawn under, in equal shares."""

FOR: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "asking again": RETRYING,
        "stopping": STOPPING,
        "cancelled": CANCELLING,
    }
)
"""Whom the worlds of a family are for, if not for every check."""

FULL: Final = 400
"""The number of examples for which the narrowed worlds are counted."""

GRAFTED: Final = 3
"""One world in so many is a fixed case with generated neighbours."""


def generated(
    examples: int, *, seed: int, fixed: Sequence[CorpusWorld] = ()
) -> Iterator[CorpusWorld]:
    """Yield so many generated worlds, the families one after the other.

    With ``fixed`` a third of them are grafts: one of these cases, and around it what
    was drawn. So a clause that needs a rare thing is met in many neighbourhoods.
    """
    among = neighbours(seed) if fixed else None
    for lot, each in enumerate(_whole(examples, seed, fixed, among)):
        yield replace(each, lot=lot)
    if among is not None:
        yield from _narrowed(fixed, examples / FULL, seed, among)


def _whole(
    examples: int, seed: int, fixed: Sequence[CorpusWorld], among: Neighbours | None
) -> Iterator[CorpusWorld]:
    """Yield the worlds that all checks judge."""
    grafted = examples // GRAFTED if among else 0
    names = list(FAMILIES)
    share, more = divmod(examples - grafted, len(names))
    for at, name in enumerate(names):
        for scenario in drawn(
            scenarios(**FAMILIES[name]), share + (at < more), seed + at
        ):
            yield CorpusWorld(scenario, name, fixed=False, only=FOR.get(name, ()))
    if among is not None:
        cases = [each for each in fixed if not each.only]
        yield from _spread(cases, grafted, seed + 1_000, among)


def _narrowed(
    fixed: Sequence[CorpusWorld], share: float, seed: int, among: Neighbours
) -> Iterator[CorpusWorld]:
    """Yield more grafts for clauses that other worlds seldom let their check decide.

    They are judged by the checks of that family alone: it is their clause they are for.
    """
    for number, (clause, count) in enumerate(narrowed().items()):
        cases = [each for each in fixed if each.clause == clause]
        first = seed + 100_000 + 100 * number
        for world in _spread(cases, round(count * share), first, among):
            yield replace(world, only=world.only or (clause.partition("-")[0],))


def _spread(
    cases: Sequence[CorpusWorld], count: int, seed: int, among: Neighbours
) -> Iterator[CorpusWorld]:
    """Yield so many grafts, of as many cases as there can be.

    Where there are more cases than grafts, cases from all families have one.
    """
    for at, case in enumerate(cases):
        share = count * (at + 1) // len(cases) - count * at // len(cases)
        yield from around(case, share, seed + at, among)


def around(
    case: CorpusWorld, count: int, seed: int, among: Neighbours
) -> Iterator[CorpusWorld]:
    """Yield so many worlds that have all a case has, and some of these neighbours."""
    random = Random(seed)  # noqa: S311  # worlds are no secrets
    for _ in range(count):
        world = graft(case.scenario, among, random)
        name = f"around {case.clause}"
        yield CorpusWorld(world, name, fixed=False, only=case.only)
