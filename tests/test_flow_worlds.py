"""Worlds of the Flow dialect: their notation, and how the reference plays them."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from compat.engines.flow.doors import load_flow_engine
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from compat.engines.flow.scenario import FlowScenario
from compat.engines.load_errors import NotAnEngineError
from refengine.errors import UnknownProfileError

HOOKS = ("before_model", "after_model", "before_tool", "after_tool")


def world(agent, *turns, **more):
    given = {"agent": {"name": "a", **agent}, "turns": turns or ({"text": "hi"},)}
    return FlowScenario.model_validate_json(json.dumps({**given, **more}))


def played(scenario, profile="flow-safe"):
    return play_flow(scenario, FlowDialect(profile))


def events(trace) -> list[Any]:
    return [each.data["event"] for each in trace.of("event")]


def said(trace):
    """Return who says what in each event, as texts."""
    return [(each["author"], _text(each)) for each in events(trace)]


def _text(event):
    parts = event.get("content", {}).get("parts", ())
    return "".join(part.get("text", "") for part in parts)


CALL = {"calls": [{"name": "t", "id": "c1"}]}
TOOL = {"name": "t", "outcomes": [{"error": "broken"}, {"result": {"v": 1}}]}


def test_a_model_answers_by_its_script_and_the_tool_by_its_outcomes() -> None:
    trace = played(world({"script": [CALL, CALL, {"text": "bye"}], "tools": [TOOL]}))

    assert [each.kind for each in trace.of("tool_end", "tool_error")] == [
        "tool_error",
        "tool_end",
    ]
    assert said(trace)[-1] == ("a", "bye")


def test_a_model_past_its_script_says_that_it_is_at_its_end() -> None:
    assert said(played(world({}))) == [("a", "the script of a is at its end")]


def test_hooks_tell_whose_they_are_and_for_which_agent() -> None:
    callbacks = {each: [[]] for each in HOOKS}
    plugin = {"name": "p", "hooks": {"before_run": [], "before_tool": []}}
    scenario = world(
        {"script": [CALL], "tools": [TOOL], "callbacks": callbacks}, plugins=[plugin]
    )

    seen = [
        (each.data["hook"], each.data.get("plugin", each.data.get("callback")))
        for each in played(scenario).of("hook_enter")
    ]

    assert seen == [
        ("before_run", "p"),
        ("before_model", 0),
        ("after_model", 0),
        ("before_tool", "p"),
        ("before_tool", 0),
        ("after_tool", 0),
        ("before_model", 0),
        ("after_model", 0),
    ]


def test_what_a_world_raises_is_told_with_its_point() -> None:
    fails = {"before_model": [[{"op": "raise", "text": "no"}]]}
    [end] = played(world({"callbacks": fails})).of("run_end")

    assert end.data["error"] == {
        "class": "ScriptedFlowError",
        "text": "no",
        "point": "callback 0 of a, before_model",
    }


def test_a_confirmation_is_answered_by_another_runner_over_the_same_sessions() -> None:
    tool = {"name": "t", "needs_confirmation": True}
    turns = ({"text": "go"}, {"confirms": [{"of": "t"}], "fresh": True})
    trace = played(world({"script": [CALL, {"text": "done"}], "tools": [tool]}, *turns))

    assert len(trace.of("build")) == 2
    assert [each.run for each in trace.of("tool_start")] == [2]
    assert said(trace)[-1] == ("a", "done")


def test_what_is_kept_of_a_session_is_loaded_afresh_after_each_turn() -> None:
    writes = {
        "before_agent": [
            [
                {"op": "count_state", "key": "app:n"},
                {"op": "write_state", "key": "temp:x", "value": 1},
                {"op": "save_artifact", "name": "f", "text": "one"},
            ]
        ]
    }
    sessions = {"s": {"state": {"app:n": 4}}, "z": {"user": "w"}}
    turns = ({"text": "a"}, {"text": "b", "session": "z"})
    kept = played(world({"callbacks": writes}, *turns, sessions=sessions)).of(
        "checkpoint"
    )

    assert [each.data["state"] for each in kept] == [{"app:n": 5}, {"app:n": 6}]
    assert [each.data["artifacts"] for each in kept] == [{"f": ("one",)}] * 2


def test_chunks_go_through_the_aggregation_of_the_profile() -> None:
    script = [{"chunks": [{"text": "a"}, {"text": "b", "finish_reason": "STOP"}]}]
    scenario = world({"script": script}, {"text": "hi", "stream": True})
    partial = [
        [each.get("partial", False) for each in events(trace)]
        for trace in (played(scenario, x) for x in ("adk-go-0.4", "adk-py-2"))
    ]

    assert partial == [[True, True, False], [True, True, False]]


def test_what_a_door_does_not_declare_is_refused_by_name() -> None:
    edits = {"after_model": [[{"op": "edit_response", "text": "x"}]]}
    [refused] = played(world({"callbacks": edits}))

    assert refused.kind == "build_error"
    assert "flow does not declare 'edited_response'" in str(refused.data["error"])


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ({"kind": "loop", "tools": [TOOL]}, "loop agent 'a' has no 'tools'"),
        ({"callbacks": {"before_run": [[]]}}, "has no callbacks 'before_run'"),
        (
            {"callbacks": {"before_agent": [[{"op": "escalate"}]]}},
            "before_agent of 'a' cannot do 'escalate'",
        ),
        ({"sub_agents": [{"name": "a"}]}, "agent 'a' stands twice"),
        ({"script": [{"text": "a", "chunks": [{"text": "b"}]}]}, "say it in one form"),
        ({"tools": [{"agent": {"name": "b"}, "name": "t"}]}, "has no 'name'"),
    ],
)
def test_a_scenario_that_means_nothing_is_refused(agent, why) -> None:
    with pytest.raises(ValidationError, match=why):
        world(agent)


def test_the_door_is_found_by_its_name_under_any_profile() -> None:
    assert load_flow_engine("compat.engines.flow.reference:FlowDialect", "adk-py-2")
    with pytest.raises(UnknownProfileError):
        load_flow_engine("compat.engines.flow.reference:FlowDialect", "adk-py-3")
    with pytest.raises(NotAnEngineError, match="has no method open"):
        load_flow_engine("compat.engines.reference:ReferenceDoor")
