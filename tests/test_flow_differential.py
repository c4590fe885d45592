"""Generated Flow worlds, and what is said of two engines that differ in them."""

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings

from compat.engines.flow.comparing import comparable_flow
from compat.engines.flow.generating import flow_worlds
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from compat.engines.flow.scenario import FlowScenario
from refengine.testing.trace import Divergence
from tests.differential.explaining import (
    Explained,
    differences,
    first_unexplained,
    look,
    read_explained,
)
from tests.differential.flow import FlowPair

SAYS_A: Any = {"agent": {"name": "a"}, "turns": [{"text": "hi"}]}


def of_scenario(doc) -> FlowScenario:
    return FlowScenario.model_validate_json(json.dumps(doc))


@seed(0)
@settings(
    max_examples=15,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(flow_worlds())
def test_a_generated_world_is_a_scenario_that_plays_alike_each_time(world) -> None:
    again = FlowScenario.model_validate_json(world.model_dump_json())
    first, second = (
        play_flow(each, FlowDialect("adk-py-2")).to_jsonl() for each in (world, again)
    )

    assert first == second


def test_ids_are_compared_by_the_order_in_which_they_come() -> None:
    scenario = of_scenario(SAYS_A)
    told = comparable_flow(play_flow(scenario, FlowDialect()), scenario)
    ids = {word for each in told for word in json.dumps(each).split('"') if " " in word}

    assert {"event 1", "run 1"} <= ids


def test_a_run_has_the_number_of_its_turn_and_says_whether_that_answers() -> None:
    tool: Any = {"name": "t", "needs_confirmation": True}
    turns: Any = [{"text": "hi"}, {"confirms": [{"of": "t"}]}, {"text": "so"}]
    script: Any = [{"calls": [{"name": "t"}]}, {"text": "ok"}]
    agent: Any = {"name": "a", "tools": [tool], "script": script}
    scenario = of_scenario({"agent": agent, "turns": turns})
    told: Any = comparable_flow(play_flow(scenario, FlowDialect()), scenario)
    events = [each["data"]["event"] for each in told if each["kind"] == "event"]

    assert {each["invocation_id"] for each in events} == {"run 1", "answer 2", "run 3"}


def test_chunks_have_ids_and_actions_of_their_own_names() -> None:
    answer: Any = {"chunks": [{"text": "h"}, {"text": "i", "finish_reason": "STOP"}]}
    scenario = of_scenario(
        {
            "agent": {"name": "a", "script": [answer]},
            "turns": [{"text": "hi", "stream": True}],
        }
    )
    told: Any = comparable_flow(play_flow(scenario, FlowDialect()), scenario)
    ids = [each["data"]["event"]["id"] for each in told if each["kind"] == "event"]

    assert ids[0] == "chunk 1"
    assert ids[-1].startswith("event ")


def test_how_far_a_parallel_agent_was_when_another_failed_is_not_compared() -> None:
    below: Any = [
        {"name": "a", "script": [{"error": "down"}]},
        {"name": "b", "script": [{"text": "ok"}]},
    ]
    scenario = of_scenario(
        {
            "agent": {"name": "w", "kind": "parallel", "sub_agents": below},
            "turns": [{"text": "hi"}, {"text": "so"}],
        }
    )
    told = comparable_flow(play_flow(scenario, FlowDialect("adk-py-2")), scenario)
    kinds: list[Any] = [each["kind"] for each in told if isinstance(each, dict)]

    assert kinds == ["build", "run_start", "run_end"]


@pytest.mark.parametrize(
    ("left", "right", "paths"),
    [
        ([{"a": 1}], [{"a": 1}], []),
        ([{"a": 1}], [{"a": 1.0}], [".a"]),
        ([{"a": [1, 2]}], [{"a": [1]}], [".a"]),
        ([{"a": 1, "b": [{"c": 1}]}], [{"b": [{"c": 2}]}], [".a", ".b[0].c"]),
        ([{}], [{}, {}], [""]),
    ],
)
def test_all_differences_of_two_traces_are_told_by_their_place(
    left, right, paths
) -> None:
    assert [each.path for each in differences(left, right)] == paths


def test_a_difference_is_explained_by_its_place_and_both_values() -> None:
    entry = Explained("n", r"\.a", "since", left="1")
    used: dict[str, int] = {}
    known = [Divergence(0, ".a", 1, 2)]
    unknown = [Divergence(0, ".a", 3, 2)]

    assert first_unexplained(iter(known), [entry], used) is None
    assert first_unexplained(iter(unknown), [entry], {}) == unknown[0]
    assert used == {"n": 1}


def test_an_entry_without_a_reason_is_refused(tmp_path) -> None:
    file = tmp_path / "known.toml"
    file.write_text("[n]\npath = '.a'\n", "utf-8")

    with pytest.raises(TypeError, match="reason"):
        read_explained(file)


def test_a_world_in_which_something_unexplained_differs_is_told() -> None:
    ours, theirs = FlowDialect("adk-py-2"), FlowDialect("adk-go-0.4")

    shown = look(FlowPair(ours, theirs), (), of_scenario(SAYS_A)).found

    assert shown is not None
    assert re.match(r"observation \d+", str(shown))


def test_an_entry_explains_nothing_of_observations_of_two_kinds() -> None:
    known = Explained("ends it", r"\.call_id", "a run that fails", ends=True)
    seen: Any = (
        [{"kind": "tool_start", "call_id": "1"}],
        [{"kind": "run_end", "call_id": None}],
    )

    found = first_unexplained(differences(*seen), [known], {})

    assert found == Divergence(0, "", seen[0][0], seen[1][0])
