"""Playing derived scenarios in all the ways that have to come out the same.

A recorded conversation ends as it ended, however many handlers stand around it that
pass everything through, whether it is streamed or not, and wherever a stream is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from refengine.messages import Json
from refengine.profile import SEED_001, Profile
from refengine.testing.channels import Seen, project
from refengine.testing.clock import run
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario import Scenario
from refengine.testing.session import play
from refengine.testing.strategies.variants import cut_anywhere, with_identity
from refengine.testing.subjects import Subject, play_subject
from refengine.testing.trace import Trace

OUTCOME: Final = (
    "answer",
    "state",
    "second_turn",
    "requests",
    "model_calls",
    "tool_executions",
    "errors",
    "effects",
)
"""The channels that have to be equal: how runs ended, and what left the agent."""

Outcome: TypeAlias = Mapping[str, Sequence[Mapping[str, Json]]]


def outcome(trace: Trace, channels: Sequence[str] = OUTCOME) -> Outcome:
    """Return status, answer, final messages, requests and more of each run."""
    seen = Seen(trace)
    return {each: [entry.value for entry in project(seen, each)] for each in channels}


def played(scenario: Scenario, profile: Profile = SEED_001) -> Outcome:
    """Play a scenario on the reference engine, on virtual time."""
    return outcome(run(play(scenario, ReferenceEngine(profile))))


def played_under(
    scenario: Scenario, subject: Subject, profile: Profile = SEED_001
) -> Outcome:
    """Play a scenario with a subject's struct middlewares or handlers."""
    return outcome(run(play_subject(scenario, subject, profile)).trace)


def in_mode(scenario: Scenario, *, streaming: bool) -> Scenario:
    """Return the scenario with every run streamed, or none."""
    runs = [each.model_copy(update={"streaming": streaming}) for each in scenario.runs]
    return scenario.model_copy(update={"runs": tuple(runs)})


def with_passing(scenario: Scenario, count: int) -> Scenario:
    """Return the scenario with so many handlers more, which have every hook."""
    for _ in range(count):
        scenario = with_identity(scenario, 0)
    return scenario


def recut(scenario: Scenario, cuts: Sequence[int]) -> Scenario:
    """Return the scenario with each answer in chunks, cut at these places."""
    script = tuple(cut_anywhere(entry, cuts) for entry in scenario.model_script)
    return scenario.model_copy(update={"model_script": script})
