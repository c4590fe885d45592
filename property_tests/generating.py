"""Generated worlds of a corpus: Hypothesis draws them, always the same for a seed.

Needs the extra ``testing``. Nothing but the seed and the version of Hypothesis decides
what is drawn: not which modules are loaded, nor where the project is installed. Worlds
around a fixed case keep all that the case has, and drawn neighbours join it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import (
    AVAILABLE_PROVIDERS,
    HypothesisProvider,
)
from hypothesis.strategies import DrawFn, SearchStrategy

from property_tests.corpus import CorpusWorld, narrowed
from refengine.testing.scenario import (
    AgentSpec,
    RunSpec,
    Scenario,
)
from refengine.testing.strategies import scenarios
from refengine.testing.strategies.extensions import handlers, middlewares
from refengine.testing.strategies.words import ANYTHING, instructions

BACKEND: Final = "refengine-steady"

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
    }
)
"""The choices of ``scenarios`` that worlds are drawn under, in equal shares."""

UNCHECKED: Final = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
)
"""Worlds are large and take a while to draw, which is no fault of theirs."""

FULL: Final = 400
"""The number of examples for which the narrowed worlds are counted."""

GRAFTED: Final = 3
"""One world in so many is a fixed case with generated neighbours."""


class SteadyProvider(HypothesisProvider):
    """Draws as Hypothesis does, but no constants of modules that happen to be loaded.

    With them the same seed gives other worlds in an editable installation than in a
    wheel, and others again once an engine is imported.
    """

    def _maybe_draw_constant(self, *_: object, **__: object) -> None:
        return None


def generated(
    examples: int, *, seed: int, fixed: Sequence[CorpusWorld] = ()
) -> Iterator[CorpusWorld]:
    """Yield so many generated worlds, the families one after the other.

    With ``fixed`` a third of them are grafts: one of these cases, and around it what
    was drawn. So a clause that needs a rare thing is met in many neighbourhoods.
    """
    grafted = examples // GRAFTED if fixed else 0
    names = list(FAMILIES)
    share, more = divmod(examples - grafted, len(names))
    for at, name in enumerate(names):
        for scenario in drawn(
            scenarios(**FAMILIES[name]), share + (at < more), seed + at
        ):
            yield CorpusWorld(scenario, name, fixed=False)
    cases = [each for each in fixed if not each.only]
    yield from _spread(cases, grafted, seed + 1_000)
    if fixed:
        yield from _narrowed(fixed, examples / FULL, seed)


def _narrowed(
    fixed: Sequence[CorpusWorld], share: float, seed: int
) -> Iterator[CorpusWorld]:
    """Yield more grafts for clauses that other worlds seldom let their check decide.

    They are judged by the checks of that family alone: it is their clause they are for.
    """
    for number, (clause, count) in enumerate(narrowed().items()):
        cases = [each for each in fixed if each.clause == clause]
        first = seed + 100_000 + 100 * number
        for world in _spread(cases, round(count * share), first):
            yield replace(world, only=(clause.partition("-")[0],))


def _spread(
    cases: Sequence[CorpusWorld], count: int, seed: int
) -> Iterator[CorpusWorld]:
    """Yield so many grafts, of as many cases as there can be.

    Where there are more cases than grafts, cases from all families have one.
    """
    for at, case in enumerate(cases):
        share = count * (at + 1) // len(cases) - count * at // len(cases)
        yield from around(case, share, seed + at)


def around(case: CorpusWorld, count: int, number: int) -> Iterator[CorpusWorld]:
    """Yield so many worlds that have all a case has, and something more."""
    # What Hypothesis draws first is the plainest there is: the case as it stands.
    found = drawn(grafts(case.scenario), count + 1, number)[1:] if count else []
    for scenario in found:
        yield CorpusWorld(scenario, f"around {case.clause}", fixed=False)


def drawn(worlds: SearchStrategy[Scenario], count: int, number: int) -> list[Scenario]:
    """Draw so many worlds of a strategy."""
    found: list[Scenario] = []
    if not count:
        return found

    with _registered():

        @seed(number)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            derandomize=False,
            backend=BACKEND,
            phases=[Phase.generate],
            suppress_health_check=UNCHECKED,
        )
        @given(worlds)
        def draw(scenario: Scenario) -> None:
            found.append(scenario)

        draw()
    return found[:count]


@contextmanager
def _registered() -> Generator[None, None, None]:
    """Let Hypothesis know our provider for as long as it is used."""
    AVAILABLE_PROVIDERS[BACKEND] = SteadyProvider
    try:
        yield
    finally:
        del AVAILABLE_PROVIDERS[BACKEND]


T = TypeVar("T")
NEIGHBOURS: Final = 2
"""At most so many extensions of a kind join those of the case."""


@st.composite
def grafts(draw: DrawFn, case: Scenario) -> Scenario:
    """Draw a world that has all that the case has, in its order, and something more.

    A kind of extension that the case does not have does not come in, since a case
    without handlers is often one about structs alone.
    """
    agents = tuple(draw(_grafted(agent)) for agent in case.all_agents)
    one = {"agent": agents[0]} if case.agent is not None else {"agents": agents}
    runs = tuple(draw(_run(run)) for run in case.runs)
    return case.model_copy(update={**one, "runs": runs})


@st.composite
def _grafted(draw: DrawFn, agent: AgentSpec) -> AgentSpec:
    changed: dict[str, object] = {}
    if agent.middlewares:
        more = [draw(middlewares(ANYTHING, f"xm{at}")) for at in range(NEIGHBOURS)]
        changed["middlewares"] = draw(_among(agent.middlewares, more))
    if agent.handlers and not any(h.same_as is not None for h in agent.handlers):
        new = [draw(handlers(ANYTHING, f"xh{at}")) for at in range(NEIGHBOURS)]
        changed["handlers"] = draw(_among(agent.handlers, new))
    if not agent.instruction:
        changed["instruction"] = draw(instructions(ANYTHING))
    return agent.model_copy(update=changed)


@st.composite
def _run(draw: DrawFn, run: RunSpec) -> RunSpec:
    history = tuple(f"user:{at}" for at in range(draw(st.sampled_from([0, 1, 40]))))
    return run.model_copy(
        update={"streaming": draw(st.booleans()), "input": (*history, *run.input)}
    )


def _among(own: Sequence[T], more: Sequence[T]) -> SearchStrategy[tuple[T, ...]]:
    """Put up to all of ``more`` somewhere among ``own``, whose order stays."""
    positions = st.lists(st.integers(0, len(own)), min_size=0, max_size=len(more))

    def placed(at: Sequence[int]) -> tuple[T, ...]:
        found = list(own)
        for position, each in zip(at, more, strict=False):
            found.insert(position, each)
        return tuple(found)

    return positions.map(placed)
