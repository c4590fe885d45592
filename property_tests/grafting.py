"""Worlds around a fixed case: its own parts stay, drawn neighbours come beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from refengine.testing.scenario import (
    AgentSpec,
    RunSpec,
    Scenario,
)
from refengine.testing.strategies.extensions import handlers, middlewares
from refengine.testing.strategies.wanted import ANYTHING
from refengine.testing.strategies.words import instructions

T = TypeVar("T")
NEIGHBOURS: Final = 2
"""So many extensions of a kind join those of the case at most."""


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
    places = st.lists(st.integers(0, len(own)), min_size=0, max_size=len(more))

    def placed(at: Sequence[int]) -> tuple[T, ...]:
        found = list(own)
        for place, each in zip(at, more, strict=False):
            found.insert(place, each)
        return tuple(found)

    return places.map(placed)
