"""Graphs that wait for a person: answered by the form of the question."""

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    after_model,
    before_model,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph.types import interrupt

from refengine.testing import Trace, World, read_scenario
from refengine.testing.subject_worlds.answers import replies_of
from refengine.testing.subjects import play_alone

TOOLS = [{"name": "t", "result": "r"}, {"name": "u", "result": "x"}]
CALLS = ['assistant:[c1:t({"q": 1})][c2:u({})]', "assistant:done"]
KINDS = ("yes", "no", "edited", "fewer", "text", "nothing")


def played(
    build: Any, *replies: dict[str, Any], script: list[str] = CALLS, **run: Any
) -> Trace:
    data = {
        "agent": {"tools": TOOLS},
        "model_script": script,
        "runs": [{"input": ["user:hi"], "replies": list(replies), **run}],
        "way": "sync",
    }
    return play_alone(read_scenario(data, "here"), build).trace


def asks_by(question: Any) -> Any:
    """Return a graph that asks before the model, and says what it was answered."""

    def build(world: World) -> Any:
        @before_model
        def asks(state: Any, runtime: Any) -> Any:
            if len(state["messages"]) > 1:
                return None
            return {"messages": [AIMessage(repr(interrupt(question)))]}

        face = world.as_langchain()
        saver = InMemorySaver()
        return create_agent(
            face.model, face.tools, middleware=[asks], checkpointer=saver
        )

    return build


def asks_after(question: Any) -> Any:
    """Return a graph that asks once the model has called tools."""

    def build(world: World) -> Any:
        @after_model
        def asks(state: Any, runtime: Any) -> None:
            if state["messages"][-1].tool_calls:
                interrupt(question)

        face = world.as_langchain()
        saver = InMemorySaver()
        return create_agent(
            face.model, face.tools, middleware=[asks], checkpointer=saver
        )

    return build


def answered(question: Any, *replies: dict[str, Any]) -> str:
    end = played(asks_by(question), *replies).of("run_end")[0]
    return str(end.data["messages"][1]["content"])  # type: ignore[index]  # any JSON


@pytest.mark.parametrize(
    ("question", "reply", "answer"),
    [
        ("sure?", {"kind": "yes", "value": "approve"}, "'approve'"),
        ("sure?", {"kind": "no", "value": False}, "False"),
        ({"q": "sure?"}, {"kind": "nothing", "value": None}, "None"),
        (
            {"action_request": {"action": "t", "args": {"a": 1}}},
            {"kind": "edited"},
            "{'type': 'edit', 'args': {'action': 't', 'args': {'a': 'edited'}}}",
        ),
        (
            {"action_request": {"action": "t", "args": {"a": 1, "b": 2}}},
            {"kind": "fewer"},
            "{'type': 'edit', 'args': {'action': 't', 'args': {'b': 2}}}",
        ),
        (
            [{"action_request": {"action": "t", "args": {}}}],
            {"kind": "nothing"},
            "[{'type': 'ignore', 'args': None}]",
        ),
        (
            {
                "action_requests": [{"name": "t", "args": {"a": 1}}],
                "review_configs": [
                    {"action_name": "t", "allowed_decisions": ["approve", "reject"]}
                ],
            },
            {"kind": "edited"},
            "{'decisions': [{'type': 'approve'}]}",
        ),
        (
            {"action_requests": [{"name": "t", "args": {}}]},
            {"kind": "text"},
            "{'decisions': [{'type': 'respond', 'message': 'a'}]}",
        ),
    ],
)
def test_question_is_answered_by_its_form(
    question: Any, reply: dict[str, Any], answer: str
) -> None:
    assert answered(question, reply) == answer


def test_question_that_nobody_said_how_to_answer_is_answered_yes() -> None:
    assert answered("sure?") == "True"


def test_question_about_no_call_is_an_effect_as_it_is() -> None:
    (effect,) = played(asks_by({"q": "sure?"})).of("effect")

    assert effect.data["name"] == "question"
    assert effect.data["data"] == {"value": {"q": "sure?"}}


@pytest.mark.parametrize(
    ("question", "seen"),
    [
        ({"tool": "t", "q": 1}, {"shown": {"tool": "<name>", "q": "<q>"}}),
        ({"q": 1}, {"shown": {"q": "<q>"}}),
        ({"tool": "t", "q": "$1.00"}, {"shown": {"tool": "<name>", "q": "<q>"}}),
        (
            {"tool": "t", "of": {"q": 2}, "say": "please look", "kind": "ask"},
            {
                "asked": {"q": 2},
                "shown": {
                    "tool": "<name>",
                    "of": {"q": 2},
                    "say": "<text>",
                    "kind": "ask",
                },
            },
        ),
        ({"action_request": {"action": "t", "args": {"q": 1}}}, {}),
    ],
)
def test_question_is_about_the_call_that_it_names_or_shows(
    question: Any, seen: dict[str, Any]
) -> None:
    (effect,) = played(asks_after(question)).of("effect")

    call = {"name": "t", "args": {"q": 1}, "approved": True}
    assert effect.data == {"name": "approval", "data": {**call, **seen}}
    assert effect.call_id == "c1"


def test_of_two_calls_of_one_name_it_is_the_one_whose_arguments_are_shown() -> None:
    calls = ['assistant:[c1:t({"q": 1})][c2:t({"q": 2})]', "assistant:done"]
    (effect,) = played(asks_after({"tool": "t", "q": 2}), script=calls).of("effect")

    assert effect.call_id == "c2"


def own_tool_that_asks(world: World) -> Any:
    @tool
    def t(q: int) -> str:
        """Ask first."""
        return f"said {interrupt(f'do {q}?')}"

    face = world.as_langchain()
    return create_react_agent(face.model, [t], checkpointer=InMemorySaver())


def test_question_in_a_tool_is_about_its_call_and_is_one_execution() -> None:
    trace = played(own_tool_that_asks, {"kind": "yes", "value": "ok"})

    (effect,) = trace.of("effect")
    assert effect.data["data"] == {"name": "t", "args": {"q": 1}, "approved": True}
    assert len(trace.of("tool_start")) == 1


def test_call_that_is_denied_is_denied_whatever_the_form() -> None:
    replies = {"kind": "yes", "value": "ok"}, {"kind": "no", "value": "never"}
    trace = played(own_tool_that_asks, *replies, denies=["c1"])

    end = trace.of("run_end")[0].data["messages"]
    assert end[2]["content"] == "said never"  # type: ignore[index]  # any JSON


def stops_before_tools(build: Any) -> Any:
    def built(world: World) -> Any:
        face = world.as_langchain()
        saver = InMemorySaver()
        return build(
            face.model, face.tools, interrupt_before=["tools"], checkpointer=saver
        )

    return built


@pytest.mark.parametrize("build", [create_react_agent, create_agent])
def test_run_that_only_stops_goes_on_if_the_person_lets_it(build: Any) -> None:
    trace = played(stops_before_tools(build))

    assert [each.call_id for each in trace.of("effect")] == ["c1", "c2"]
    assert [each.call_id for each in trace.of("tool_start")] == ["c1", "c2"]
    assert trace.of("run_end")[0].data["status"] == "completed"


@pytest.mark.parametrize("build", [create_react_agent, create_agent])
def test_run_that_only_stops_ends_there_if_not(build: Any) -> None:
    trace = played(stops_before_tools(build), {"kind": "no", "value": False})

    assert not trace.of("tool_start")
    assert trace.of("run_end")[0].data["status"] == "interrupted"


def test_run_that_asks_without_end_ends_with_an_error() -> None:
    def build(world: World) -> Any:
        @before_model
        def asks(state: Any, runtime: Any) -> Any:
            while interrupt("sure?") != "never":
                pass

        face = world.as_langchain()
        saver = InMemorySaver()
        return create_agent(face.model, [], middleware=[asks], checkpointer=saver)

    (end,) = played(build).of("run_end")

    assert end.data["status"] == "error"


def test_framework_decides_among_what_it_allows() -> None:
    def build(world: World) -> Any:
        face = world.as_langchain()
        asks = HumanInTheLoopMiddleware(
            interrupt_on={"t": {"allowed_decisions": ["approve", "reject"]}}
        )
        saver = InMemorySaver()
        return create_agent(
            face.model, face.tools, middleware=[asks], checkpointer=saver
        )

    for kind in KINDS:
        trace = played(build, {"kind": kind, "value": None})
        assert trace.of("run_end")[0].data["status"] == "completed"


def test_an_edit_may_leave_an_argument_out() -> None:
    def build(world: World) -> object:
        @wrap_tool_call
        def asks(request: Any, handler: Any) -> Any:
            call = request.tool_call
            args = interrupt({"name": call["name"], "args": call["args"]})
            return handler(request.override(tool_call={**call, "args": args}))

        face = world.as_langchain()
        saver = InMemorySaver()
        return create_agent(
            face.model, face.tools, middleware=[asks], checkpointer=saver
        )

    edits = [{"kind": kind, "value": "<args>"} for kind in ("edited", "fewer")]
    calls = 'assistant:[c{}:t({{"q": 1, "n": 2}})]'
    script = [calls.format(1), calls.format(2), "assistant:done"]
    ran = played(build, *edits, script=script).of("tool_start")

    assert [json.loads(str(each.data["arguments"])) for each in ran] == [
        {"q": "edited", "n": 2},
        {"n": 2},
    ]


ANSWER_GIVEN_ON = """
def said(d):
    return d.get("decision") == "approve"

class Desk:
    def read(self, d):
        return said(d)

    def ask(self, q):
        return self.read(interrupt(q))
"""


@pytest.mark.parametrize(
    ("source", "replies"),
    [
        (
            'd = interrupt({"q": 1})\nif d == "approve": pass',
            {"yes": "approve", "no": "no", "text": "a", "nothing": ""},
        ),
        (
            'd = interrupt("x")\nif not d: pass',
            {"yes": True, "no": False, "text": "a", "nothing": None},
        ),
        (
            'd = interrupt(q)\nif d.get("approved"): pass\nelse: d["reason"]',
            {
                "yes": {"approved": True, "reason": "a"},
                "no": {"approved": False, "reason": "a"},
                "text": {"approved": "a", "reason": "a"},
                "nothing": {},
            },
        ),
        (
            'd = interrupt([q])[0]\nif d["type"] in ("accept", "edit"): d["args"]',
            {
                "yes": [{"type": "accept", "args": None}],
                "no": [{"type": "no", "args": None}],
                "edited": [{"type": "edit", "args": "<args>"}],
                "fewer": [{"type": "edit", "args": "<args>"}],
                "text": [{"type": "a", "args": "a"}],
                "nothing": [{}],
            },
        ),
        (
            "def ask(q):\n    return interrupt(q)\nok = ask(1).strip() in ['y', 'n']",
            {"yes": "y", "no": "n", "text": "a", "nothing": ""},
        ),
        (
            ANSWER_GIVEN_ON,
            {
                "yes": {"decision": "approve"},
                "no": {"decision": "no"},
                "text": {"decision": "a"},
                "nothing": {},
            },
        ),
        ("interrupt_before = 1", {"yes": True, "no": False}),
        ("x = 1", {}),
    ],
)
def test_answers_are_what_the_older_side_looks_for(
    source: str, replies: dict[str, Any]
) -> None:
    assert dict(reversed(replies_of([source], [source, ""]))) == replies


@pytest.mark.parametrize(
    ("source", "typed"),
    [
        ("ok = interrupt(1).strip() == 'y'", [" y\n"]),
        ("d = interrupt(q)['say'].strip()\nif d == 'y': pass", [{"say": " y\n"}]),
        ("ok = interrupt(1) == 'y'", []),
        ("ok = interrupt(1)\nx.strip()", []),
    ],
)
def test_a_yes_stands_behind_spaces_where_a_side_trims(
    source: str, typed: list[Any]
) -> None:
    found = [value for kind, value in replies_of([source], [source]) if kind == "text"]

    assert found[1:] == typed
