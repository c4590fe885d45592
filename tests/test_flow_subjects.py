"""Agents of the Flow dialect as subjects of a migration, alone and beside ADK's."""

import json
from importlib.util import find_spec
from typing import Any

import pytest

from compat.dialects.flow import LlmAgent, Plugin, Runner
from compat.dialects.playing.flow_world import as_flow
from compat.migration.differences import TraceChannels, broken
from compat.verdicts.relations import RELATIONS, channels_of
from refengine.testing.scenario_files import read_scenario
from refengine.testing.subject_worlds.named_values import is_adk_source
from refengine.testing.subjects import SubjectError, play_alone

INSTALLED = find_spec("google") is not None and find_spec("google.adk") is not None
EVERY = channels_of(RELATIONS[-1])
GO = 'assistant:[h{0}:transfer_to_agent({{"agent_name": "{1}"}})]'
ASKED = 'assistant:[c{0}:refund({{"amount": {1}}})]'
WORLDS = (
    {
        "agent": {"tools": [{"name": "look", "result": "<args>"}]},
        "model_script": [ASKED.format(1, 60), ASKED.format(2, 60), "assistant:done"],
        "runs": [
            {"input": ["user:hi"], "options": {"refunded": 30, "user:runs": 1}},
            {"input": ["user:more"], "continues": True, "options": {"refunded": 0}},
            {"input": ["user:new"], "streaming": True},
        ],
    },
    {
        "agent": {"tools": [{"name": "look", "result": "<args>", "error": "boom"}]},
        "model_script": [
            GO.format(1, "clerk"),
            "assistant:there",
            GO.format(2, "desk"),
            "assistant:back",
            "assistant:[k:look({})]",
            {"error": "boom"},
            'assistant:[k2:nothing({})][k3:refund({"amount": 1})]',
            "assistant:end",
        ],
        "runs": [
            {"input": ["user:a", "assistant:b", "user:hi"], "streaming": True},
            {"input": ["user:on"], "continues": True},
            *[{"input": ["user:new"]}] * 4,
        ],
    },
)


def limit(tool_context: Any, tool: Any, args: dict[str, Any]) -> dict[str, Any] | None:
    total = tool_context.state.get("refunded", 0) + args.get("amount", 0)
    if tool.name != "refund" or total <= 100:
        tool_context.state["refunded"] = total
        return None
    return {"error": "too much"}


def count(callback_context: Any) -> None:
    runs = callback_context.state.get("user:runs", 0)
    if runs >= 9:
        raise PermissionError
    callback_context.state["user:runs"] = runs + 1


def desk(world, **callbacks):
    flow = as_flow(world)

    def refund(amount: int):
        """Give money back."""
        world.effect("refund", {"amount": amount})
        return {"refunded": amount}

    clerk = LlmAgent(name="clerk", model=flow.model, description="Knows the files.")
    return LlmAgent(
        name="desk",
        model=flow.model,
        instruction="Be kind.",
        tools=[*flow.tools, refund],
        sub_agents=[clerk],
        **callbacks,
    )


def callbacks(world):
    root = desk(world, before_tool=limit, before_agent=count)
    return Runner(root, profile="adk-py-2")


def port(world):
    def of_desk(hook):
        return lambda ctx, *more: hook(ctx, *more) if ctx.agent_name == "desk" else None

    return desk(world), [
        Plugin(name="limit", before_tool=of_desk(limit)),
        Plugin(name="quota", before_agent=of_desk(count)),
    ]


def port_of_every_agent(world):
    return desk(world), [
        Plugin(name="limit", before_tool=limit),
        Plugin(name="quota", before_agent=count),
    ]


def adk_callbacks(world):
    from google.adk.agents import LlmAgent as AdkAgent

    adk = world.as_adk()

    def refund(amount: int):
        """Give money back."""
        world.effect("refund", {"amount": amount})
        return {"refunded": amount}

    clerk = AdkAgent(name="clerk", model=adk.model, description="Knows the files.")
    return AdkAgent(
        name="desk",
        model=adk.model,
        instruction="Be kind.",
        tools=[*adk.tools, refund],
        sub_agents=[clerk],
        before_tool_callback=lambda tool, args, tool_context: limit(
            tool_context, tool, args
        ),
        before_agent_callback=count,
    )


def played(world, subject):
    return play_alone(read_scenario(world, "a world"), subject)


def differing(old, new, world):
    traces = (
        TraceChannels(played(world, each).trace.to_jsonl()) for each in (old, new)
    )
    return broken(*traces, EVERY, ())


def test_what_agents_of_the_dialect_do_is_observed():
    found = played(WORLDS[0], callbacks)

    assert found.hooks == {"desk.before_tool": 2, "desk.before_agent": 3}
    assert [each.data for each in found.trace.of("effect")] == [
        {"name": "refund", "data": {"amount": 60}}
    ]
    ends: list[Any] = [each.data for each in found.trace.of("run_end")]
    first, second, new = ends
    assert [first["answer"], second["answer"], new["status"]] == [
        "done",
        "EXHAUSTED",
        "completed",
    ]
    assert first["stored"]["state"] == {
        "app": {},
        "user": {"runs": 2},
        "session": {"refunded": 90},
    }
    assert second["stored"]["state"]["session"] == {"refunded": 0}


def test_callbacks_and_a_port_that_asks_which_agent_it_is_are_the_same():
    old = lambda world: desk(world, before_tool=limit, before_agent=count)  # noqa: E731  # a subject

    assert [differing(old, port, each) for each in WORLDS] == [frozenset()] * 2


def test_a_port_that_hears_of_every_agent_differs():
    old = lambda world: desk(world, before_tool=limit, before_agent=count)  # noqa: E731  # a subject

    assert "scope_state" in differing(old, port_of_every_agent, WORLDS[1])


def test_an_agent_that_asks_another_model_is_refused():
    class Other:
        name = "other"

    with pytest.raises(SubjectError, match="which nobody sees"):
        played(WORLDS[0], lambda _: LlmAgent(name="a", model=Other()))


@pytest.mark.parametrize("got", [("no agent", []), "no list"])
def test_what_cannot_be_run_is_refused(got):
    def subject(world):
        return got if got != "no list" else (desk(world), "no list")

    with pytest.raises(SubjectError):
        played(WORLDS[0], subject)


def test_a_source_that_asks_for_the_dialect_gets_worlds_of_sessions():
    assert is_adk_source("flow = as_flow(world)")


def without_notes(world, subject):
    """Return what was seen, without what a framework itself tells a model."""
    lines: list[str] = []
    for line in played(world, subject).trace.to_jsonl().splitlines():
        entry = json.loads(line)
        if entry["kind"] == "model_request":
            data = entry["data"]
            data["messages"] = [m for m in data["messages"] if m["role"] != "system"]
            own = [t for t in data["tools"] if t["name"] != "transfer_to_agent"]
            data["tools"] = own
        lines.append(json.dumps(entry))
    return TraceChannels("\n".join(lines) + "\n")


@pytest.mark.skipif(not INSTALLED, reason="needs the extra 'adk'")
def test_the_same_piece_on_google_adk_differs_in_the_frameworks_notes_alone():
    found = [
        broken(
            without_notes(each, adk_callbacks),
            without_notes(each, callbacks),
            EVERY,
            (),
        )
        for each in WORLDS
    ]

    assert found == [frozenset()] * 2
    assert {"requests"} <= differing(adk_callbacks, callbacks, WORLDS[0])
