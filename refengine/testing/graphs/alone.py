"""A session of a graph, in the first way in which it can be run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Final

from refengine.testing.graphs.session import GraphSession, WrongWayError
from refengine.testing.recorder import Recorder
from refengine.testing.scenario import AgentSpec, Scenario
from refengine.testing.session import MODEL_SECONDS
from refengine.testing.subjects import Played, Subject, SubjectError, Way, is_graph
from refengine.testing.world import World

PLAIN: Final = "give its hooks a plain form, too, or leave the wire out"


def play_graph(
    scenario: Scenario,
    subject: Subject,
    world: World,
    graph: object,
    ways: Sequence[Way],
) -> Played:
    """Play the graph that the subject built in this world, and others if need be.

    Raises as ``play_alone``.
    """
    if len(scenario.all_agents) > 1:
        raise SubjectError(graph, "a world of several agents has no place for a graph")
    if world.wire is not None:
        return _over_the_wire(scenario, world, graph)
    spec = scenario.all_agents[0] if scenario.all_agents else AgentSpec()
    ordered = sorted(ways, key=lambda way: way != scenario.way)
    for way in ordered:
        session = GraphSession(scenario, world, graph, way, last=way == ordered[-1])
        try:
            session.play()
        except WrongWayError:
            world = World(spec, scenario, Recorder(), model_seconds=MODEL_SECONDS)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # as where it was called first
                graph = subject(world)
            if not is_graph(graph):
                raise SubjectError(graph, "it was a graph the first time") from None
        else:
            return Played(world.recorder.trace(), session.hooks, way)
    raise AssertionError(ways)


def _over_the_wire(scenario: Scenario, world: World, graph: object) -> Played:
    """Play it plain: virtual time would jump over what a real socket waits for."""
    session = GraphSession(scenario, world, graph, "sync")
    try:
        session.play()
    except WrongWayError as error:
        why = f"over the wire it is run plain, and it can only be run async ({error})"
        raise SubjectError(graph, why, PLAIN) from error
    finally:
        world.as_langchain().close()
    return Played(world.recorder.trace(), session.hooks, "sync")
