"""A whole run of the Flow dialect: every hook, in the order that all versions have."""

import asyncio

from compat.dialects.flow import LlmAgent
from compat.dialects.flow.profile import FLOW_PROFILES
from tests.flow_support import (
    ScriptedModel,
    calls,
    run,
    runner_of,
    saying_callbacks,
    saying_plugin,
    short,
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
