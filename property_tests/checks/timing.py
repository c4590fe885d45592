"""STR: a stream is handed on as it comes (contract §2 STR).

Decided on virtual time, where time passes between the chunks of a stream. What counts
is when the consumer has what it could have: not who asked whom for it first. So an
engine that reads ahead is as good as one that waits to be asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.specs import tool_wraps
from property_tests.view import RunView
from refengine.profile import Profile
from refengine.testing.scenario import AgentSpec, ModelChunks, Scenario
from refengine.testing.trace import Observation

CAME: Final = "when the consumer has a chunk: as soon as it was given and asked for"
EVENT: Final = "when the consumer has a stream: before its first chunk waits for more"
LATE: Final = 0.5
"""So much of the time between two chunks may pass while a chunk is handed on."""


def answers_in_time(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the consumer has each chunk of an answer when it was given."""
    for run in case.played.runs:
        if not run.spec.streaming or _joins_answers(run.agent) or run.agent.retry:
            continue
        told = [e for e in run.events if e.data.get("kind") == "model"]
        for now, event in zip(run.iterations, told, strict=False):
            given = [e for e in now.entries if e.kind == "model_chunk"]
            yield from _in_time(given, event, first=True)


def results_in_time(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the consumer has each chunk of a result when it was given."""
    for run in case.played.runs:
        if not run.spec.streaming or _replaces_results(run.agent):
            continue
        for event in run.events:
            given = [e for e in _chunks(run) if e.call_id == event.call_id]
            if event.data.get("kind") == "tool" and event.call_id is not None:
                first = _is_first(case.profile, run, event)
                yield from _in_time(given, event, first=first)


def _chunks(run: RunView) -> list[Observation]:
    return [each for each in run.entries if each.kind == "tool_chunk"]


def _is_first(profile: Profile, run: RunView, event: Observation) -> bool:
    """Tell whether no event of another call stands before that of a call."""
    asked = [
        [call.id for call in now.message.tool_calls]
        for now in run.iterations
        if now.message is not None
    ]
    found = [ids for ids in asked if event.call_id in ids]
    if len(found) != 1:
        return False
    [ids] = found
    held = profile.direct_event == "last" and len(ids) > 1
    return ids[0] == event.call_id and ids.count(ids[0]) == 1 and not held


def _in_time(
    given: Sequence[Observation], event: Observation, *, first: bool
) -> Iterator[Decision]:
    """Decide about one stream, if it is told when its chunks were given and came."""
    times = cast("Sequence[float]", event.data.get("times", ()))
    when = [each.data.get("time") for each in given]
    if len(times) != len(given) + 2 or len(given) < 2:
        return
    if not all(isinstance(each, float) for each in when):
        return
    gave = cast("list[float]", when)
    late = LATE * min((b - a for a, b in pairwise(gave)), default=0)
    asked, came, *had = times
    if first:
        yield _decision(EVENT, [max(asked, gave[0])], [came], late, event)
    due = [max(made, before) for made, before in zip(gave, [came, *had], strict=False)]
    yield _decision(CAME, due, had, late, event)


def _decision(
    claim: str,
    due: Sequence[float],
    had: Sequence[float],
    late: float,
    at: Observation,
) -> Decision:
    got = [d if h <= d + late else h for d, h in zip(due, had, strict=True)]
    return Decision(claim, list(due), got, at)


def _joins_answers(agent: AgentSpec) -> bool:
    wraps = (each.wrap_model for each in agent.handlers)
    return any(each is not None and each.concat_stream for each in wraps)


def _replaces_results(agent: AgentSpec) -> bool:
    """Tell whether some wrapper puts other chunks in the place of those of a tool."""
    return any(
        each.set_result is not None
        or each.set_stream is not None
        or each.short_circuit is not None
        or each.catch_error is not None
        or each.call_next > 1
        for each in tool_wraps(agent)
    )


def _slow_answers(scenario: Scenario) -> bool:
    script = scenario.model_script
    return any(isinstance(each, ModelChunks) and each.chunk_ms for each in script)


def _slow_results(scenario: Scenario) -> bool:
    tools = (tool for agent in scenario.all_agents for tool in agent.every_tool)
    return any(tool.chunk_ms for tool in tools)


_STREAMS: Final = frozenset(("streaming",))

CHECKS: Final = (
    Check(
        clause="STR-024",
        decide=answers_in_time,
        needs=_STREAMS,
        meant=_slow_answers,
    ),
    Check(
        clause="STR-025",
        decide=results_in_time,
        needs=_STREAMS | {"streamable_tools"},
        meant=_slow_results,
    ),
)
