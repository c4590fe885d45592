"""The tool stage: its hooks, unknown tools, and what a call's response is."""

import asyncio
from typing import Any

import pytest

from compat.dialects.flow import LlmAgent, Plugin, Tool, function_tool
from compat.dialects.flow.run_errors import (
    NotJsonError,
    UnknownFlowToolError,
)
from tests.flow_support import ScriptedModel, calls, run, runner_of, stored, tool

DATA = ("adk-go-0.4", "adk-go-2", "flow-safe")
ABORT = ("adk-py-1", "adk-py-2")


def played(tools, profile="adk-go-0.4", *, called="f", plugin=None, **callbacks) -> Any:
    """Return the response of one call, or what the run raised."""
    model = ScriptedModel(calls(called), "ok")
    agent = LlmAgent(name="clerk", model=model, tools=tools, **callbacks)
    plugins = [] if plugin is None else [plugin]
    try:
        events = asyncio.run(run(runner_of(agent, *plugins, profile=profile)))
    except Exception as error:  # noqa: BLE001  # compared by the test
        return error
    return next(x.response for event in events for x in event.responses)


def failing(name="f", error=ValueError):
    def fail():
        raise error("boom")

    return function_tool(fail, name=name)


@pytest.mark.parametrize(
    ("profile", "response"),
    [("adk-py-1", {"x": 1}), ("adk-py-2", {}), ("adk-go-0.4", {})],
)
def test_an_empty_mapping_of_a_callback_is_a_value_but_in_one_version(
    profile, response
):
    hooks = [lambda *_: {}, lambda *_: {"x": 1}]

    assert played([tool("f")], profile, before_tool=hooks) == response


@pytest.mark.parametrize("profile", DATA + ABORT)
def test_an_empty_mapping_is_given_where_nobody_else_gives_anything(profile):
    assert played([tool("f")], profile, before_tool=lambda *_: {}) == {}
    hooks = [lambda *_: {}, lambda *_: None]
    runs = profile == "adk-py-1"
    assert played([tool("f")], profile, before_tool=hooks) == (
        {"v": "f"} if runs else {}
    )


@pytest.mark.parametrize("profile", DATA + ABORT)
def test_an_empty_mapping_of_an_error_hook_is_a_value_everywhere(profile):
    hooks = [lambda *_: {}, lambda *_: {"late": True}]

    assert played([failing()], profile, on_tool_error=hooks) == {}


def test_an_empty_mapping_of_a_plugin_is_a_value_everywhere():
    plugin = Plugin(name="p", before_tool=lambda *_: {})

    for profile in DATA + ABORT:
        assert played([tool("f")], profile, plugin=plugin) == {}


@pytest.mark.parametrize(
    ("profile", "response"), [("adk-go-0.4", None), ("adk-py-2", {"result": None})]
)
def test_a_tool_that_gives_nothing_is_answered(profile, response):
    assert played([function_tool(lambda: None, name="f")], profile) == response


def test_an_unknown_tool_ends_the_run_or_may_be_answered_by_a_before_hook():
    assert isinstance(
        played([tool("f")], "adk-py-1", called="ghost"), UnknownFlowToolError
    )
    answer = played(
        [tool("f")], "adk-py-2", called="ghost", before_tool=lambda *_: {"v": 1}
    )
    assert answer == {"v": 1}
    assert "ghost" in played([tool("f")], "adk-py-2", called="ghost")["error"]


def test_a_tool_that_cannot_be_run_is_as_one_that_is_not_there():
    response = played([Tool(name="f"), tool("g")])

    assert response["error"].startswith("tool 'f' not found.")


@pytest.mark.parametrize(
    ("profile", "value", "asked"),
    [
        ("adk-go-0.4", None, 2),
        ("adk-go-2", None, 1),
        ("adk-go-2", {}, 2),
        ("adk-py-2", {}, 1),
    ],
)
def test_a_long_running_tool_without_a_result_is_answered_or_held_back(
    profile, value, asked
):
    model = ScriptedModel(calls("f"), "ok")
    slow = function_tool(lambda: value, name="f", long_running=True)
    runner = runner_of(
        LlmAgent(name="clerk", model=model, tools=[slow]), profile=profile
    )

    events = asyncio.run(run(runner))

    assert events[0].long_running_ids == ("c1",)
    assert len(model.requests) == asked


@pytest.mark.parametrize(
    ("profile", "finished"), [("adk-py-1", ["slow"]), ("adk-py-2", [])]
)
def test_a_failing_call_lets_its_siblings_finish_or_cancels_them(profile, finished):
    done = []

    async def slow():
        for _ in range(5):
            await asyncio.sleep(0)
        done.append("slow")

    model = ScriptedModel(calls("slow", "f"))
    agent = LlmAgent(name="clerk", model=model, tools=[slow, failing()])

    with pytest.raises(ValueError, match="boom"):
        asyncio.run(run(runner_of(agent, profile=profile)))

    assert done == finished


@pytest.mark.parametrize(("profile", "told"), [("adk-py-1", []), ("adk-py-2", ["f"])])
def test_what_was_finished_when_a_call_failed_is_told_in_one_version(profile, told):
    model = ScriptedModel(calls("f", "g"))
    agent = LlmAgent(name="clerk", model=model, tools=[tool("f"), failing("g")])
    runner = runner_of(agent, profile=profile)

    with pytest.raises(ValueError, match="boom"):
        asyncio.run(run(runner))

    events = asyncio.run(stored(runner)).events
    assert [x.name for event in events for x in event.responses] == told


def test_a_result_that_is_no_json_is_refused_by_its_place():
    found = played([function_tool(lambda: {"v": {1, 2}}, name="f")])

    assert isinstance(found, NotJsonError)
    assert str(found).startswith("the result of tool 'f'['v'] is {1, 2} (set)")


def test_a_plain_function_is_declared_by_its_parameters_without_the_context():
    def search(words: list[str], tool_context, limit: int = 3) -> dict[str, int]:
        """Search for words."""
        return dict.fromkeys(words, limit)

    made = function_tool(search)

    assert made.description == "Search for words."
    assert made.parameters == {
        "properties": {
            "words": {"items": {"type": "string"}, "title": "Words", "type": "array"},
            "limit": {"default": 3, "title": "Limit", "type": "integer"},
        },
        "required": ("words",),
        "type": "object",
    }
