"""Grafts: worlds that have all that a case has, in its order, and something more.

The neighbours of all grafts are drawn once. To draw two handlers takes longer than to
play the world that they join, and which of them meet where is what grafts differ in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from hypothesis import strategies as st

from property_tests.drawing import drawn
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    MiddlewareSpec,
    RunSpec,
    Scenario,
)
from refengine.testing.strategies.extensions import handlers, middlewares
from refengine.testing.strategies.words import ANYTHING, instructions

T = TypeVar("T")

NEIGHBOURS: Final = 2
"""At most so many extensions of a kind join those of the case."""
POOL: Final = 80
"""So many neighbours of a kind are drawn for each of their places."""
HISTORIES: Final = (0, 1, 40)
"""So many messages may stand before a run's own."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What may join a case; one list for each of the names that neighbours have."""

    middlewares: tuple[tuple[MiddlewareSpec, ...], ...]
    handlers: tuple[tuple[HandlerSpec, ...], ...]
    instructions: tuple[str, ...]


def neighbours(seed: int) -> Neighbours:
    """Draw them, always the same for a seed."""
    places = range(NEIGHBOURS)
    return Neighbours(
        tuple(_pool(middlewares(ANYTHING, f"xm{at}"), seed + at) for at in places),
        tuple(_pool(handlers(ANYTHING, f"xh{at}"), seed + at) for at in places),
        _pool(instructions(ANYTHING), seed),
    )


def _pool(values: st.SearchStrategy[T], seed: int) -> tuple[T, ...]:
    return tuple(drawn(values, POOL, seed))


def graft(case: Scenario, among: Neighbours, random: Random) -> Scenario:
    """Return a world that has all that the case has, and some of its neighbours.

    A kind of extension that the case does not have does not come in, since a case
    without handlers is often one about structs alone.
    """
    agents = tuple(_grafted(agent, among, random) for agent in case.all_agents)
    one = {"agent": agents[0]} if case.agent is not None else {"agents": agents}
    runs = tuple(_run(run, random) for run in case.runs)
    return case.model_copy(update={**one, "runs": runs})


def _grafted(agent: AgentSpec, among: Neighbours, random: Random) -> AgentSpec:
    changed: dict[str, object] = {}
    if agent.middlewares:
        changed["middlewares"] = _joined(agent.middlewares, among.middlewares, random)
    if agent.handlers and not any(h.same_as is not None for h in agent.handlers):
        changed["handlers"] = _joined(agent.handlers, among.handlers, random)
    if not agent.instruction:
        changed["instruction"] = random.choice(among.instructions)
    return agent.model_copy(update=changed)


def _run(run: RunSpec, random: Random) -> RunSpec:
    if run.resume is not None:
        return run
    history = tuple(f"user:{at}" for at in range(random.choice(HISTORIES)))
    streaming = random.random() < 1 / 2
    return run.model_copy(
        update={"streaming": streaming, "input": (*history, *run.input)}
    )


def _joined(
    own: Sequence[T], pools: Sequence[Sequence[T]], random: Random
) -> tuple[T, ...]:
    """Put a neighbour of some of the pools anywhere among ``own``, whose order stays.

    Neighbours of all of them join more often than not.
    """
    found = list(own)
    for pool in pools[: random.choice((0, 1, len(pools), len(pools)))]:
        found.insert(random.randint(0, len(found)), random.choice(pool))
    return tuple(found)
