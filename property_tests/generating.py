"""Generated worlds of a corpus: Hypothesis draws them, always the same for a seed.

Needs the extra ``testing``. Nothing but the seed and the version of Hypothesis decides
what is drawn: not which modules are loaded, nor where the project is installed. Worlds
around a fixed case keep all that the case has, and neighbours join it (``grafting``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from property_tests.corpus import CorpusWorld, narrowed
from property_tests.drawing import drawn
from property_tests.grafting import Neighbours, graft, neighbours
from refengine.testing.scenario import Scenario
from refengine.testing.strategies import scenarios
from refengine.testing.strategies.stopping import (
    asking,
    asking_between,
    cancelled,
    killed,
    retrying,
)

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
        "small failures": {"failures": True, "small": True, "options": True},
    }
)
"""The choices of ``scenarios`` that worlds are drawn under, in equal shares."""

SMALL: Final[Mapping[str, Any]] = MappingProxyType({"small": True, "options": True})
"""The choices of the worlds that something happens to."""
BASES: Final = 60
"""So many of them are drawn; what happens to each is drawn several times."""

HAPPENINGS: Final[
    Mapping[str, tuple[Callable[[Scenario], SearchStrategy[Scenario]], int]]
] = MappingProxyType(
    {
        "asking again": (retrying, 90),
        "stopping": (asking, 100),
        "cancelled": (cancelled, 150),
        "killed": (killed, 60),
        "asking between attempts": (asking_between, 40),
    }
)
"""What may happen to a small world, and how many such worlds there are (``FULL``)."""

VARIED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "asking again": (),
        "stopping": ("INT",),
        "cancelled": (),
        "killed": (),
        "asking between attempts": ("INT",),
    }
)
"""Who may have these worlds played in other variants."""
IN_VARIANTS: Final = 3
"""One world in so many that is asked again is played in those that it can be, too."""

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
    yield from happening(examples / FULL, seed)
    if among is not None:
        yield from _narrowed(fixed, examples / FULL, seed, among)


def happening(share: float, seed: int) -> Iterator[CorpusWorld]:
    """Yield small worlds that fail and are asked again, that ask, or are cancelled."""
    count = round(BASES * min(share, 1)) or 1
    bases = drawn(scenarios(**SMALL), count, seed + 2_000)
    for at, (name, (happen, often)) in enumerate(HAPPENINGS.items()):
        worlds = st.sampled_from(bases).flatmap(happen)
        made = drawn(worlds, round(often * share), seed + 2_001 + at)
        for number, scenario in enumerate(made):
            world = CorpusWorld(scenario, name, fixed=False, varied=VARIED[name])
            turn, rest = divmod(number, IN_VARIANTS)
            whole = name == "asking again" and not rest
            yield replace(world, varied=None, lot=turn) if whole else world


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
            yield CorpusWorld(scenario, name, fixed=False)
    if among is not None:
        cases = [e for e in fixed if not e.only and e.varied is None]
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
    random = Random(seed)  # noqa: S311  # worlds are not secrets
    for _ in range(count):
        world = graft(case.scenario, among, random)
        name = f"around {case.clause}"
        only, varied = case.only, case.varied
        yield CorpusWorld(world, name, fixed=False, only=only, varied=varied)
