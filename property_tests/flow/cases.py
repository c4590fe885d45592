"""Fixed worlds of the Flow dialect: for each clause some that show it.

They are written as short as they can be; a world is for one clause, and every check
looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from compat.engines.flow.scenario import FlowScenario
from property_tests.dialects.dialect import JudgedWorld

Data: TypeAlias = "dict[str, Any]"
Lists: TypeAlias = "dict[str, list[list[Data]]]"
"""The callbacks of an agent, by hook."""

ALL_HOOKS: Final = (
    *("on_user_message", "before_run", "before_agent", "before_model"),
    *("after_model", "on_event", "before_tool", "after_tool", "after_agent"),
    "after_run",
)
CALLBACKS: Final = tuple(
    each
    for each in ALL_HOOKS
    if each not in {"on_user_message", "before_run", "on_event", "after_run"}
)
ADD: Final[Mapping[str, Any]] = {
    "name": "add",
    "description": "Adds.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "outcomes": [{"result": {"sum": 3}}],
}
BROKEN: Final[Mapping[str, Any]] = {**ADD, "outcomes": [{"error": "no power"}]}
PAY: Final[Mapping[str, Any]] = {
    **ADD,
    "name": "pay",
    "needs_confirmation": True,
    "outcomes": [{"result": {"paid": True}}],
}
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}


def calls(*names: str, **args: object) -> Data:
    """Return an answer that calls tools of these names, each with these arguments."""
    made = [
        {"name": name, "args": args, "id": f"c{at}"} for at, name in enumerate(names)
    ]
    return {"calls": made}


def gives(text: str) -> list[Data]:
    """Return a hook that says this."""
    return [{"op": "return", "text": text}]


def results(**values: object) -> list[Data]:
    """Return a tool hook that gives this."""
    return [{"op": "return", "result": values}]


def fails(text: str = "no") -> list[Data]:
    """Return a hook that raises."""
    return [{"op": "raise", "text": text}]


def writes(key: str, value: object) -> list[Data]:
    """Return a hook that writes to the state."""
    return [{"op": "write_state", "key": key, "value": value}]


def llm(*script: str | Data, **more: Any) -> Data:  # noqa: ANN401  # fields of a spec
    """Return an agent that asks a model, with what that answers."""
    answers = [
        {"text": each} if isinstance(each, str) else _numbered(each, at)
        for at, each in enumerate(script)
    ]
    return {"name": "a", "script": answers, **more}


def _numbered(answer: Data, at: int) -> Data:
    """Return an answer whose calls have other ids than those of other answers."""
    made = [{**each, "id": f"{each['id']}.{at}"} for each in answer.get("calls", ())]
    return {**answer, "calls": made} if made else answer


def plugin(name: str = "p", **hooks: list[Data]) -> Data:
    """Return a plugin."""
    return {"name": name, "hooks": hooks}


def world(
    agent: Data,
    *turns: str | Data,
    plugins: tuple[Data, ...] = (),
    **more: Any,  # noqa: ANN401  # fields of a spec
) -> FlowScenario:
    """Return a scenario; a turn is a text, or more of it. Without any, "hi" is said."""
    told = [{"text": each} if isinstance(each, str) else each for each in turns]
    data = {"agent": agent, "turns": told or [{"text": "hi"}], "plugins": plugins}
    return FlowScenario.model_validate_json(json.dumps({**data, **more}))


def _whole_run() -> Iterator[tuple[str, FlowScenario]]:
    quiet: dict[str, list[Data]] = {each: [] for each in ALL_HOOKS}
    hooks, other = plugin("p", **quiet), plugin("q", **quiet)
    own: Lists = {each: [[], []] for each in CALLBACKS}
    both = llm(calls("add", a=1), "three", tools=[ADD], callbacks=own)
    for clause in ("FLOW-001", "FLOW-002", "FLOW-003", "FLOW-004"):
        yield clause, world(both, plugins=(hooks, other))
    early = {"before_model": [gives("early"), []]}
    yield "FLOW-005", world(llm("late", callbacks=early), plugins=(hooks,))
    yield (
        "FLOW-005",
        world(both, plugins=(plugin(before_tool=results(by="p")), other)),
    )
    after = {"after_model": [gives("x"), []], "after_tool": [results(by="me"), []]}
    yield (
        "FLOW-005",
        world(llm(calls("add"), "ok", tools=[ADD], callbacks=after), plugins=(hooks,)),
    )
    yield "FLOW-005", world(both, plugins=(plugin(after_model=gives("p")), other))
    yield "FLOW-005", world(both, plugins=(plugin(before_agent=gives("p")), other))
    failing = {"before_model": [fails(), []]}
    yield "FLOW-006", world(llm("late", callbacks=failing))
    yield "FLOW-006", world(both, plugins=(plugin(after_model=fails()), other))
    yield "FLOW-006", world(both, plugins=(plugin(before_tool=fails()), other))


def _loop() -> Iterator[tuple[str, FlowScenario]]:
    yield "FLOW-007", world(llm(calls("add"), calls("add"), "done", tools=[ADD]))
    yield "FLOW-007", world(llm("one", "two"), "hi", "again")
    thought = {"parts": [{"text": "hm", "thought": True}]}
    yield "FLOW-007", world(llm(thought, "said"))
    cut = {"responses": [{"text": "half", "partial": True}]}
    yield "FLOW-008", world(llm(cut, "more"), {"text": "hi", "stream": True})
    yield "FLOW-010", world(llm({"usage": 3}, "never"))
    yield "FLOW-010", world(llm({"responses": [{"usage": 1}, {"text": "yes"}]}))
    yield "FLOW-011", world(llm(calls("add", a=1), "three", tools=[ADD]))
    yield "FLOW-011", world(llm(calls("add", "add"), calls("add"), "ok", tools=[ADD]))
    half = {
        "responses": [
            {"calls": [{"name": "add", "id": "c1"}], "partial": True},
            {"calls": [{"name": "add", "id": "c1"}]},
        ]
    }
    yield (
        "FLOW-012",
        world(llm(half, "ok", tools=[ADD]), {"text": "hi", "stream": True}),
    )


def _model_hooks() -> Iterator[tuple[str, FlowScenario]]:
    own = {"before_model": [gives("canned")], "after_model": [gives("masked")]}
    yield "FLOW-020", world(llm("asked", callbacks=own))
    yield "FLOW-020", world(llm("asked"), plugins=(plugin(before_model=gives("p")),))
    covering = {"before_model": [fails()], "on_model_error": [gives("covered")]}
    yield "FLOW-021", world(llm("asked", callbacks=covering))
    down = {"error": "down"}
    mended: Lists = {"on_model_error": [gives("covered")], "after_model": [[]]}
    yield "FLOW-022", world(llm(down, callbacks=mended))
    both: Lists = {**mended, "after_model": [gives("masked")]}
    yield "FLOW-022", world(llm(down, callbacks=both))
    other: Lists = {"on_model_error": [fails("worse")], "after_model": [[]]}
    yield "FLOW-023", world(llm(down, callbacks=other))
    silent: Lists = {
        "on_model_error": [[], []],
        "after_model": [[]],
    }
    yield "FLOW-024", world(llm(down, callbacks=silent))
    yield "FLOW-024", world(llm(down))
    yield "FLOW-025", world(llm("secret", callbacks={"after_model": [gives("***")]}))
    yield (
        "FLOW-025",
        world(
            llm("one", "two", callbacks={"after_model": [gives("***")]}), "hi", "again"
        ),
    )
    chunked = {"chunks": [{"text": "a"}, {"text": "b"}, {"finish_reason": "STOP"}]}
    watched: Lists = {"after_model": [[]]}
    yield (
        "FLOW-026",
        world(llm(chunked, callbacks=watched), {"text": "hi", "stream": True}),
    )
    several = {"responses": [{"text": "a", "partial": True}, {"text": "ab"}]}
    yield (
        "FLOW-026",
        world(llm(several, callbacks=watched), {"text": "hi", "stream": True}),
    )
    yield "FLOW-027", world(llm("said", callbacks={"after_model": [fails()]}))
    cutting = [{"op": "edit_request", "keep_last": 1, "append_instruction": "Hurry."}]
    short = llm(
        "one", "two", instruction="Help.", callbacks={"before_model": [cutting]}
    )
    yield "FLOW-028", world(short, "hi", "again")
    for hook in ("before_model", "after_model"):
        yield (
            "FLOW-029",
            world(llm("said"), plugins=(plugin("p", **{hook: fails("mine")}),)),
        )
    yield "FLOW-029", world(llm("said", callbacks={"before_model": [fails("mine")]}))


def _tool_hooks() -> Iterator[tuple[str, FlowScenario]]:
    def tooled(tool: Mapping[str, Any], **hooks: list[list[Data]]) -> FlowScenario:
        return world(llm(calls("add", a=1), "ok", tools=[tool], callbacks=hooks))

    yield "FLOW-040", tooled(ADD, before_tool=[results(quota=0)])
    plugs = (plugin(before_tool=results(quota=0)),)
    yield "FLOW-040", world(llm(calls("add"), "ok", tools=[ADD]), plugins=plugs)
    yield "FLOW-041", tooled(ADD, before_tool=[results(quota=0)], after_tool=[[]])
    yield "FLOW-042", tooled(BROKEN, on_tool_error=[results(text="sorry")])
    yield "FLOW-042", tooled(BROKEN, on_tool_error=[[], results(text="sorry")])
    yield "FLOW-043", tooled(BROKEN)
    yield "FLOW-043", tooled(BROKEN, on_tool_error=[[]])
    yield "FLOW-044", tooled(ADD, after_tool=[results(masked=True)])
    yield "FLOW-045", tooled(BROKEN, after_tool=[[]])
    yield (
        "FLOW-046",
        tooled(ADD, before_tool=[fails()], on_tool_error=[results(text="sorry")]),
    )
    yield "FLOW-046", tooled(ADD, before_tool=[fails()], on_tool_error=[[]])
    yield "FLOW-047", tooled(ADD, before_tool=[results(), []])
    yield "FLOW-047", tooled(ADD, before_tool=[results(), results(by="second")])
    yield "FLOW-047", tooled(ADD, after_tool=[results(), []])
    yield "FLOW-048", world(llm(calls("lost"), "ok", tools=[ADD]))
    edit = [{"op": "edit_args", "values": {"a": 9}}]
    yield "FLOW-049", tooled(ADD, before_tool=[edit])
    yield "FLOW-050", tooled({**ADD, "outcomes": [{"result": 3}]})
    yield "FLOW-050", tooled({**ADD, "outcomes": [{"result": [1]}]})
    twins = [ADD, {**ADD, "outcomes": [{"result": {"sum": 4}}]}]
    yield "FLOW-051", world(llm(calls("add"), "ok", tools=twins))


def _agents() -> Iterator[tuple[str, FlowScenario]]:
    hooks: Lists = {"before_agent": [gives("closed")], "after_agent": [[]]}
    yield "FLOW-060", world(llm("said", callbacks=hooks))
    below = llm("said", callbacks=hooks)
    first = {"name": "s", "kind": "sequential", "sub_agents": [below]}
    yield "FLOW-060", world(first)
    yield "FLOW-061", world(llm("said", callbacks={"after_agent": [gives("bye")]}))
    yield "FLOW-062", world(llm("said", callbacks={"before_agent": [writes("k", 1)]}))
    yield "FLOW-062", world(llm("said", callbacks={"after_agent": [writes("k", 1)]}))
    yield "FLOW-063", world(llm("said", callbacks={"before_agent": [fails()]}))


def _runner() -> Iterator[tuple[str, FlowScenario]]:
    masks = plugin(on_user_message=gives("hello"))
    yield "FLOW-070", world(llm("one", "two"), "secret", "again", plugins=(masks,))
    yield "FLOW-071", world(llm("said"), plugins=(plugin(before_run=gives("shut")),))
    stamped = plugin(on_event=gives("stamped"))
    yield "FLOW-072", world(llm("one", "two"), "hi", "again", plugins=(stamped,))
    yield "FLOW-073", world(llm("said"), plugins=(plugin(after_run=[]),))
    yield "FLOW-073", world(llm({"error": "x"}), plugins=(plugin(after_run=[]),))
    leaving = {"text": "hi", "leave_after": 1}
    tooled = llm(calls("add"), "ok", tools=[ADD])
    yield "FLOW-073", world(tooled, leaving, plugins=(plugin(after_run=[]),))
    chunked = {"chunks": [{"text": "a"}, {"text": "b", "finish_reason": "STOP"}]}
    yield "FLOW-074", world(llm(chunked), {"text": "hi", "stream": True})
    yield "FLOW-075", world(llm(calls("add"), "ok", tools=[ADD]))
    yield "FLOW-075", world(llm("one", "two"), "hi", "again")
    child = {**llm("here", "still"), "name": "b"}
    hands = llm(calls("transfer_to_agent", agent_name="b"), "back", sub_agents=[child])
    yield "FLOW-076", world(hands, "hi", "again")
    closed = {**child, "disallow_transfer_to_parent": True}
    stays = llm(calls("transfer_to_agent", agent_name="b"), "back", sub_agents=[closed])
    yield "FLOW-076", world(stays, "hi", "again")
    yield "FLOW-077", world(llm("one", "two"), "hi", "again")


def _calls() -> Iterator[tuple[str, FlowScenario]]:
    slow = {**ADD, "name": "slow", "delay_ms": 20, "outcomes": [{"result": {"n": 1}}]}
    fast = {**ADD, "name": "fast", "outcomes": [{"result": {"n": 2}}]}
    yield "FLOW-080", world(llm(calls("slow", "fast"), "ok", tools=[slow, fast]))

    def pair(one: list[Data], other: list[Data]) -> FlowScenario:
        tools = [{**slow, "do": one, "delay_ms": 0}, {**fast, "do": other}]
        return world(llm(calls("slow", "fast"), "ok", tools=tools))

    yield "FLOW-081", pair(writes("k", {"x": 1}), writes("k", {"y": 2}))
    yield "FLOW-081", pair(writes("k", [1]), writes("k", [2]))
    on = [{"op": "skip_summarization", "value": True}]
    off = [{"op": "skip_summarization", "value": False}]
    yield "FLOW-082", pair(on, off)
    yield "FLOW-082", pair(off, on)
    names = [{**llm(f"I am {each}"), "name": each} for each in "bc"]
    both = {
        "calls": [
            {"name": "transfer_to_agent", "args": {"agent_name": each}, "id": each}
            for each in "bc"
        ]
    }
    yield "FLOW-083", world(llm(both, "back", sub_agents=names))
    yield "FLOW-084", world(llm(calls("add", "add", "add"), "ok", tools=[ADD]))
    broken = {**BROKEN, "name": "broken"}
    yield "FLOW-084", world(llm(calls("broken", "add"), "ok", tools=[broken, ADD]))


def _contents() -> Iterator[tuple[str, FlowScenario]]:
    inner = [{**llm(f"I am {each}"), "name": each} for each in "bc"]
    apart = {"name": "p", "kind": "parallel", "sub_agents": inner}
    last = {**llm("heard"), "name": "d"}
    row = {"name": "s", "kind": "sequential", "sub_agents": [apart, last]}
    two = [{**llm(calls("add"), "end", "more", tools=[ADD]), "name": x} for x in "bc"]
    yield "FLOW-090", world(row)
    yield (
        "FLOW-090",
        world({"name": "p", "kind": "parallel", "sub_agents": two}, "hi", "go"),
    )
    tells = {**llm(calls("add"), "first", tools=[ADD]), "name": "b"}
    hears = {**llm("second"), "name": "c"}
    yield (
        "FLOW-091",
        world({"name": "s", "kind": "sequential", "sub_agents": [tells, hears]}),
    )
    long = {**ADD, "name": "job", "long_running": True, "outcomes": [{"result": None}]}
    later = {"late": [{"of": "job", "result": {"done": True}}]}
    yield (
        "FLOW-092",
        world(llm(calls("job"), "waiting", "done", tools=[long]), "hi", later),
    )
    yield (
        "FLOW-092",
        world(llm(calls("add", "add"), "ok", "end", tools=[ADD]), "a", "b"),
    )
    none = llm("one", "two", include_contents="none")
    yield "FLOW-093", world(none, "hi", "again")
    empty = {"responses": [{"parts": [{"text": ""}, {"text": "x"}]}]}
    yield "FLOW-094", world(llm(empty, "two"), "hi", "again")
    whole = {"chunks": [{"text": "abc"}, {"finish_reason": "STOP"}]}
    cut = {"chunks": [{"text": "a"}, {"text": "bc"}, {"finish_reason": "STOP"}]}
    for each in (whole, cut):
        turns = [{"text": said, "stream": True} for said in ("hi", "again")]
        yield "FLOW-140", world(llm(each, "two"), *turns)


def _instructions() -> Iterator[tuple[str, FlowScenario]]:
    child = {**llm("here", instruction="Own."), "name": "b"}
    root = llm(
        calls("transfer_to_agent", agent_name="b"),
        global_instruction="House rules.",
        instruction="Root.",
        sub_agents=[child],
    )
    yield "FLOW-100", world(root)
    state = {"n": "Ada", "app:a": "App", "user:u": "You", "none": None}
    sessions = {"s": {"state": state}}
    for clause, text in (
        ("FLOW-101", "Hi {n} of {app:a} and {user:u}."),
        ("FLOW-101", "{ n } and {n?}{none}"),
        ("FLOW-102", "Hi {lost?}{app:lost?}!"),
        ("FLOW-103", "Hi {lost}."),
        ("FLOW-104", 'JSON {"a": 1} {} {1x} {bad-key} {x:y} {n ?}'),
        ("FLOW-105", "{{n}} {{{n}}}"),
    ):
        yield clause, world(llm("ok", instruction=text), sessions=sessions)


def _transfer() -> Iterator[tuple[str, FlowScenario]]:
    leaf = {**llm("leaf"), "name": "c", "disallow_transfer_to_peers": True}
    closed = {**llm("b"), "name": "b", "disallow_transfer_to_parent": True}
    root = llm(calls("transfer_to_agent", agent_name="c"), sub_agents=[closed, leaf])
    yield "FLOW-110", world(root)
    alone = {**llm("x"), "disallow_transfer_to_parent": True}
    yield "FLOW-110", world({**alone, "disallow_transfer_to_peers": True})
    row = [{**llm("b"), "name": "b"}, {**llm("c"), "name": "c"}]
    yield "FLOW-110", world({"name": "s", "kind": "sequential", "sub_agents": row})
    child = {**llm("here"), "name": "b"}
    yield (
        "FLOW-111",
        world(llm(calls("transfer_to_agent", agent_name="b"), sub_agents=[child])),
    )
    for name in ("ghost", "a"):
        lost = llm(calls("transfer_to_agent", agent_name=name), "x", sub_agents=[child])
        yield "FLOW-112", world(lost)


def _output() -> Iterator[tuple[str, FlowScenario]]:
    answer = calls("set_model_response", answer="yes")
    yield (
        "FLOW-120",
        world(llm(answer, "x", tools=[ADD], output_schema=SCHEMA, model="other")),
    )
    yield "FLOW-121", world(llm("kept", output_key="k"))
    yield "FLOW-121", world(llm(calls("add"), "kept", tools=[ADD], output_key="k"))


def _confirmation() -> Iterator[tuple[str, FlowScenario]]:
    paid = llm(calls("pay", a=1), "after", "end", tools=[PAY])
    for clause in ("FLOW-130", "FLOW-131"):
        yield clause, world(paid)
    yes, no = ({"confirms": [{"confirmed": each}]} for each in (True, False))
    yield "FLOW-132", world(paid, "hi", yes)
    yield "FLOW-132", world(paid, "hi", {**yes, "fresh": True})
    yield "FLOW-133", world(paid, "hi", no)


def _resumed() -> Iterator[tuple[str, FlowScenario]]:
    yes: Data = {"confirms": [{}]}
    skips = {**PAY, "do": [{"op": "skip_summarization"}]}
    yield "FLOW-007", world(llm(calls("pay"), "end", tools=[skips]), "hi", yes)
    twice = llm(calls("pay"), calls("pay"), "end", tools=[PAY])
    yield "FLOW-092", world(twice, "hi", "ho", yes, "so")
    beside = [{"name": "b", "script": [{"text": "b"}]}, llm(calls("pay"), tools=[PAY])]
    group = {"name": "w", "kind": "parallel", "sub_agents": beside}
    yield "FLOW-090", world(group, "hi", yes)
    child = {"name": "c", "script": [{"text": "c"}]}
    below = {"name": "b", "script": [{"text": "b"}], "sub_agents": [child]}
    far = calls("transfer_to_agent", agent_name="c")
    yield "FLOW-112", world(llm(far, "x", sub_agents=[below]))


def _streams() -> Iterator[tuple[str, FlowScenario]]:
    streamed = {"text": "hi", "stream": True}
    end = {"finish_reason": "STOP"}
    for texts in (("abc",), ("a", "b", "c")):
        chunks = [*({"text": each} for each in texts), end]
        yield "FLOW-140", world(llm({"chunks": chunks}), streamed)
    sound = [{"text": "a"}, {"parts": [{"blob": "beep"}]}, {"text": "b"}, end]
    yield "FLOW-141", world(llm({"chunks": sound}), streamed)
    yield "FLOW-142", world(llm({"chunks": [{"text": "a"}, {"text": "b"}]}), streamed)


def _state() -> Iterator[tuple[str, FlowScenario]]:
    def two(key: str, *, user: str = "u") -> FlowScenario:
        write = {"before_agent": [[*writes(key, 7), {"op": "read_state", "key": key}]]}
        sessions = {"s": {"user": "u"}, "t": {"user": user}}
        turns = [{"text": "hi", "session": each} for each in "st"]
        return world(llm("a", "b", callbacks=write), *turns, sessions=sessions)

    yield "FLOW-150", two("temp:k")
    yield "FLOW-151", two("app:k", user="v")
    yield "FLOW-151", two("user:k", user="v")
    yield "FLOW-151", two("user:k")
    yield "FLOW-152", two("k")
    yield "FLOW-151", two("app:k")
    read = [{"op": "read_state", "key": "k"}]
    hooks: Lists = {"before_model": [writes("k", 7)], "after_model": [read]}
    yield "FLOW-153", world(llm("a", callbacks=hooks))
    tool = {**ADD, "do": writes("k", 7)}
    late = {"after_tool": [read]}
    yield "FLOW-153", world(llm(calls("add"), "ok", tools=[tool], callbacks=late))


def _processors() -> Iterator[tuple[str, FlowScenario]]:
    adds = [{"op": "edit_request", "append_instruction": "More."}]
    listed: list[Data] = [{"do": adds}, {"do": [], "at": 3}, {"do": adds, "at": 5}]
    yield "FLOW-160", world(llm("a", processors=listed))
    called = llm(calls("add"), "a", tools=[ADD], processors=listed)
    yield "FLOW-160", world(called, "hi", "ho")
    for at in (0, 6, None):
        yield "FLOW-161", world(llm("a", processors=[{"do": gives("p"), "at": at}]))
        yield "FLOW-162", world(llm("a", processors=[{"do": fails(), "at": at}]))
    yield "FLOW-163", world(llm("a", processors=[{"do": adds}]))


def _variants() -> Iterator[tuple[str, FlowScenario]]:
    quiet: dict[str, list[Data]] = {each: [] for each in ALL_HOOKS}
    own: Lists = {each: [[]] for each in CALLBACKS}
    both = llm(calls("add", a=1), "three", tools=[ADD], callbacks=own)
    yield "FLOW-013", world(both, plugins=(plugin("p", **quiet),))
    failing = llm({"error": "down"}, callbacks={"on_model_error": [[]]})
    yield "FLOW-013", world(failing, plugins=(plugin("p", on_model_error=[]),))
    cut = {"chunks": [{"text": "a"}, {"text": "b"}, {"text": "c"}]}
    yield "FLOW-095", world(llm(cut, "d"), {"text": "hi", "stream": True}, "ho")


@cache
def fixed_worlds() -> tuple[JudgedWorld, ...]:
    """Return all of them, in the order of their clauses."""
    groups = (
        *(_whole_run, _loop, _model_hooks, _tool_hooks, _agents, _runner, _calls),
        *(_contents, _instructions, _transfer, _output, _confirmation),
        *(_resumed, _streams, _state, _processors, _variants),
    )
    return tuple(
        JudgedWorld(scenario, clause, fixed=True)
        for group in groups
        for clause, scenario in group()
    )
