"""Real adk-go behind its driver: the same events as the reference under its profile."""

from __future__ import annotations

import json
import shutil

import pytest

from compat.dialects.flow.profile import flow_profile
from compat.engines.flow.comparing import comparable_flow
from compat.engines.flow.doors import FLOW_CAPABILITIES, load_flow_engine
from compat.engines.flow.operations import CALLBACKS, OF_HOOK
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from compat.engines.flow.scenario import FlowScenario

pytestmark = [
    pytest.mark.skipif(
        shutil.which("go") is None, reason="without Go no driver in Go is built"
    ),
    pytest.mark.usefixtures("driver_traffic"),
]

WORLD = {
    "agent": {
        "name": "A",
        "instruction": "B {x?}",
        "tools": [{"name": "t", "outcomes": [{"result": {"v": "r"}}]}],
        "script": [{"calls": [{"name": "t", "args": {"q": 1}}]}, {"text": "done"}],
        "callbacks": {
            **{hook: [[]] for hook in CALLBACKS},
            "before_model": [
                [
                    {"op": "edit_request", "append_instruction": "more"},
                    {"op": "write_state", "key": "x", "value": 1},
                    {"op": "count_state", "key": "n"},
                    {"op": "read_state", "key": "n"},
                ]
            ],
        },
    },
    "plugins": [{"name": "p", "hooks": {hook: [] for hook in OF_HOOK}}],
    "turns": [{"text": "hi"}, {"text": "again", "stream": True}],
}


def read(world: object) -> FlowScenario:
    return FlowScenario.model_validate_json(json.dumps(world))


def test_adk_go_does_as_the_reference_does_under_its_profile(
    driver_traffic: set[tuple[str, str]],
) -> None:
    engine, scenario = load_flow_engine("adk-go@0.5.0"), read(WORLD)

    theirs = comparable_flow(play_flow(scenario, engine), scenario)
    ours = comparable_flow(play_flow(scenario, FlowDialect(engine.profile)), scenario)

    assert theirs == ours
    assert len(ours) > 60
    assert ("driver", "hook") in driver_traffic


def test_what_is_linked_is_what_the_name_says() -> None:
    engine = load_flow_engine("adk-go@0.5.0")

    assert (engine.version, engine.profile.name) == ("v0.5.0", "adk-go-0.5")
    assert set(FLOW_CAPABILITIES) - engine.capabilities == {
        "processors",
        "failing_after_run",
    }


def test_ids_are_the_same_each_time() -> None:
    engine, scenario = load_flow_engine("adk-go@0.5.0"), read(WORLD)

    once, again = play_flow(scenario, engine), play_flow(scenario, engine)

    assert [each.canonical() for each in once] == [each.canonical() for each in again]


def test_another_profile_can_be_asked_for() -> None:
    engine = load_flow_engine("adk-go@0.5.0", "adk-go-2")

    assert engine.profile == flow_profile("adk-go-2")
