"""Playing one scenario with what a subject built with ADK."""

from __future__ import annotations

from refengine.testing.adk.stack import AdkStack
from refengine.testing.clock import run_on
from refengine.testing.flows.session import FlowPlay
from refengine.testing.scenario import Scenario
from refengine.testing.subjects import Played, SubjectError
from refengine.testing.world import World


def play_adk(scenario: Scenario, world: World, got: object) -> Played:
    """Play the agents that the subject built in this world.

    Raises SubjectError and EffectError.
    """
    if len(scenario.all_agents) > 1:
        why = "a world of several agents has no place for agents of ADK"
        raise SubjectError(got, why)
    stack = AdkStack(world, got)
    session = FlowPlay(scenario, world, stack)
    run_on(world.clock, session.play())
    trace = world.recorder.trace()
    return Played(trace, stack.hooks, refused=session.refused)
