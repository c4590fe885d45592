"""Streams and histories that are put in the place of others: what is only an echo."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from compat.migration import judge
from compat.migration.corpus import MigrationWorld
from compat.migration.described import named
from compat.migration.differences import TraceChannels, differences
from refengine.testing.channels import UNKEPT
from refengine.testing.scenario_files import read_scenario
from tests.judging_support import judged_in

Message = tuple[str, str]  # who, and the text


def trace(
    given: Sequence[Message],
    shown: Sequence[Message],
    kept: Sequence[Message],
    **start: object,
) -> TraceChannels:
    """Return a run that begins with messages, shows some, and keeps some."""
    entries: list[tuple[str, Mapping[str, Any]]] = [
        ("run_start", {"messages": [*map(said, given)], **start}),
        *(
            ("event", {"kind": kind, "whole": {"text": text, "tool_calls": []}})
            for kind, text in shown
        ),
        ("run_end", {"status": "completed", "messages": [*map(said, kept)]}),
    ]
    return traced(entries)


def traced(entries: Sequence[tuple[str, Mapping[str, Any]]]) -> TraceChannels:
    """Return a run in which this was observed."""
    built = ("build", {"asked": "sync", "way": "sync"})
    items = (
        {"seq": at, "run": 1, "kind": kind, "call_id": None, "data": data}
        for at, (kind, data) in enumerate([built, *entries])
    )
    return TraceChannels("\n".join(map(json.dumps, items)))


def said(message: Message) -> Mapping[str, Any]:
    return {"role": message[0], "content": message[1]}


A, B, SUMMARY = ("assistant", "a"), ("assistant", "b"), ("user", "Summary: s")


@pytest.mark.parametrize(
    ("given", "shown", "kept", "told"),
    [
        # What a hook shows of what the run was given is an echo, kept or not.
        ([A], [("hook", "a"), ("model", "b")], [A, B], ["b"]),
        ([A], [("hook", "a"), ("model", "b")], [B], ["b"]),
        # So is what was shown before; a history in another place shows it again.
        ([], [("model", "b"), ("hook", "b")], [B], ["b"]),
        # A message that is new is told, though it says what an earlier one said.
        ([A], [("hook", "a")], [A, A], ["a"]),
        ([A], [("hook", "a"), ("hook", "a")], [A, A], ["a"]),
        ([A], [("model", "a")], [A, A], ["a"]),
        # What is kept nowhere is told.
        ([A], [("hook", "s"), ("model", "b")], [SUMMARY, B], ["s", "b"]),
        ([A], [("model", "a"), ("model", "b")], [A, B], ["a", "b"]),
    ],
)
def test_what_a_consumer_knows_and_is_shown_again_is_no_event(
    given: Sequence[Message],
    shown: Sequence[Message],
    kept: Sequence[Message],
    told: Sequence[str],
) -> None:
    found = trace(given, shown, kept)

    assert [each.value["text"] for each in found.entries("events")] == told


def test_events_of_agents_that_keep_sessions_are_no_echoes() -> None:
    """Theirs have an author, and results that say in themselves whose they are."""
    whole = {"text": "", "tool_calls": [], "responses": [["c1", "look", {}]]}
    told = {"kind": "tool", "author": "desk", "whole": whole}
    shown: list[tuple[str, Mapping[str, Any]]] = [("event", told)] * 2
    ends = ("run_end", {"status": "completed", "messages": []})
    found = traced([("run_start", {"messages": []}), *shown, ends])

    assert len(found.entries("events")) == 2


@pytest.mark.parametrize(
    ("ours", "theirs", "code"),
    [
        ([("hook", "a"), ("model", "b")], [("hook", "b"), ("model", "a")], "ORDER"),
        ([("model", "b")], [("model", "s"), ("model", "b")], "STREAM_LEAK"),
        ([("model", "s"), ("model", "b")], [("model", "b")], "STREAM_LEAK"),
        ([("model", "a"), ("model", "b")], [("model", "a")], "EVENT_ORDER"),
    ],
    ids=["another order", "leaks", "leaked", "not shown"],
)
def test_only_what_nothing_keeps_is_a_leak(
    ours: Sequence[Message], theirs: Sequence[Message], code: str
) -> None:
    old, new = (trace([], each, [A, B]) for each in (ours, theirs))
    first, *_ = differences(old, new, ("events",))

    assert named(first, old, new).code == code


def test_a_text_of_a_run_that_keeps_nothing_is_no_leak() -> None:
    def failed(text: str) -> TraceChannels:
        whole = {"text": text, "tool_calls": []}
        return traced(
            [
                ("run_start", {"messages": []}),
                ("event", {"kind": "tool", "whole": whole}),
                ("run_end", {"status": "error", "messages": [], UNKEPT: True}),
            ]
        )

    old, new = failed("found it"), failed("found…")
    first, *_ = differences(old, new, ("events",))

    assert named(first, old, new).code == "STREAM_TEXT"


OLD = """
from langgraph.prebuilt import create_react_agent
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langchain_core.messages import HumanMessage, RemoveMessage

def subject(world):
    lc = world.as_langchain()
    quiet = lc.model.with_config(tags=["nostream"])

    def compact(state):
        messages = state["messages"]
        if len(messages) <= 4:
            return {"messages": []}
        summary = HumanMessage("So far: " + quiet.invoke("Summarise.").text)
        left = [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *messages[-3:]]
        return {"messages": left}

    return create_react_agent(lc.model, lc.tools, pre_model_hook=compact)
"""
NEW = """
from langchain.agents import create_agent
from langchain.agents.middleware import before_model
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langchain_core.messages import HumanMessage, RemoveMessage

def subject(world):
    lc = world.as_langchain()
    quiet = lc.model.with_config(tags=["nostream"])

    @before_model
    def compact(state, runtime):
        messages = state["messages"]
        if len(messages) <= 4:
            return None
        summary = HumanMessage("So far: " + quiet.invoke("Summarise.").text)
        left = [each.model_copy(update={"id": None}) for each in messages[-3:]]
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *left]}

    return create_agent(lc.model, lc.tools, middleware=[compact])
"""
LOUD = NEW.replace("quiet.invoke", "lc.model.invoke")
LOST = NEW.replace("messages[-3:]", "messages[-2:]")
SAID = ["user:a", "assistant:b", "user:c", "assistant:d", "user:e"]
WORLD = {
    "agent": {},
    "model_script": ["assistant:s", "assistant:f"],
    "runs": [{"input": SAID, "streaming": True}],
    "way": "sync",
}


@pytest.mark.parametrize(
    ("new", "code"),
    [(NEW, None), (LOUD, "STREAM_LEAK"), (LOST, "MESSAGE_LOST")],
    ids=["copies", "a summary that leaks", "a message too few"],
)
def test_compaction_that_shows_kept_messages_again_is_no_leak(
    tmp_path: Path, new: str, code: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "TRIES_IN_A_FOLDER", 1)  # nobody reads the world
    world = MigrationWorld(read_scenario(WORLD, "t"), "long history", fixed=True)
    verdict = judged_in(lambda _: [world], tmp_path, OLD, new)

    assert verdict.fault is None
    assert (verdict.divergence and verdict.divergence.code) == code
