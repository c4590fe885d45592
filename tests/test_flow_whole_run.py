"""A whole run of the Flow dialect: every hook, in the order that all versions have."""

import asyncio

import pytest

from compat.dialects.flow import LlmAgent, Plugin, text_content
from compat.dialects.flow.profile import FLOW_PROFILES
from tests.flow_support import (
    ScriptedModel,
    calls,
    run,
    runner_of,
    saying_callbacks,
    saying_plugin,
    short,
    stored,
    tool,
)

PROFILE_NAMES = [each.name for each in FLOW_PROFILES]


def test_the_hooks_of_a_run_are_called_in_one_order_under_every_profile():
    for profile in PROFILE_NAMES:
        log: list[str] = []

        def add(a: int, b: int, log: list[str] = log) -> int:
            log.append("tool")
            return a + b

        def sum_up(a: int, b: int):
            return add(a, b)

        agent = LlmAgent(
            name="clerk",
            model=ScriptedModel(calls(("sum_up", {"a": 1, "b": 2})), "three"),
            tools=[sum_up],
            **saying_callbacks(log),
        )
        runner = runner_of(agent, saying_plugin(log), profile=profile)

        events = asyncio.run(run(runner))

        assert log == [
            "p.on_user_message",
            "p.before_run",
            "p.before_agent",
            "a.before_agent",
            "p.before_model",
            "a.before_model",
            "p.after_model",
            "a.after_model",
            "p.on_event",
            "p.before_tool",
            "a.before_tool",
            "tool",
            "p.after_tool",
            "a.after_tool",
            "p.on_event",
            "p.before_model",
            "a.before_model",
            "p.after_model",
            "a.after_model",
            "p.on_event",
            "p.after_agent",
            "a.after_agent",
            "p.after_run",
        ], profile
        assert [short(each) for each in events] == [
            "clerk: sum_up()",
            "clerk: sum_up -> {'result': 3}",
            "clerk: three",
        ]


def test_a_session_keeps_the_message_and_every_event():
    agent = LlmAgent(
        name="clerk", model=ScriptedModel(calls("f"), "ok"), tools=[tool("f")]
    )
    runner = runner_of(agent)

    events = asyncio.run(run(runner, "do it"))

    kept = asyncio.run(stored(runner)).events
    assert short(kept[0]) == "user: do it"
    assert kept[1:] == events
    assert len({each.id for each in kept}) == 4
    assert len({each.invocation_id for each in kept}) == 1
    assert [each.timestamp for each in kept] == sorted(x.timestamp for x in kept)


def test_the_model_is_asked_again_with_the_response_of_the_tool():
    model = ScriptedModel(calls("f"), "ok")
    runner = runner_of(LlmAgent(name="clerk", model=model, tools=[tool("f")]))

    asyncio.run(run(runner, "do it"))

    assert [len(each) for each in model.contents] == [1, 3]
    last = model.contents[1][-1]
    assert last.responses[0].response == {"v": "f"}
    assert last.role == "user"


def test_on_user_message_replaces_what_is_kept_and_asked():
    model = ScriptedModel("ok")

    def shout(_, said):
        return text_content("user", said.text.upper())

    plugin = Plugin(name="loud", on_user_message=shout)
    runner = runner_of(LlmAgent(name="clerk", model=model), plugin)

    asyncio.run(run(runner, "do it"))

    assert asyncio.run(stored(runner)).events[0].content.text == "DO IT"
    assert model.contents[0][0].text == "DO IT"


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ("adk-go-0.4", "user: hi"),
        ("adk-py-2", "model: closed"),
        ("flow-safe", "model: closed"),
    ],
)
def test_content_of_before_run_takes_the_place_of_the_run(profile, told):
    model = ScriptedModel()
    hook = Plugin(name="hours", before_run=lambda _: text_content("model", "closed"))
    runner = runner_of(LlmAgent(name="clerk", model=model), hook, profile=profile)

    events = asyncio.run(run(runner))

    assert [short(each) for each in events] == [told]
    assert len(asyncio.run(stored(runner)).events) == 2
    assert model.requests == []
