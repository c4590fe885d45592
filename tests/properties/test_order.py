"""Order: pipelines go down the list, onions nest, and middlewares stand first (ORD)."""

from collections.abc import Iterable, Iterator
from itertools import chain, groupby, pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from refengine.profile import profile
from refengine.testing import Scenario, Trace
from refengine.testing.ops import RecordOp
from refengine.testing.scenario import (
    AgentSpec,
    HandlerSpec,
    MiddlewareSpec,
    ModelWrapSpec,
    ToolWrapSpec,
    WrapToolCallSpec,
)
from refengine.testing.strategies import scenarios
from tests.properties.support import (
    Entry,
    brackets,
    by_call,
    entries,
    played,
    searching,
    under_every_profile,
)

RECORD = (RecordOp(op="record"),)
AROUND_TOOLS = {"tool_middleware", "tool_wrapper"}
MODEL_HOOKS = ("before_chat_model", "before_model", "after_chat_model", "after_model")


def recording(scenario: Scenario, sizes: tuple[int, int, int]) -> Scenario:
    """Return the scenario with extensions that record every hook and change nothing."""
    outer, structs, inner = (
        [f"{kind}{at}" for at in range(size)]
        for kind, size in zip("wmh", sizes, strict=True)
    )
    changed = {
        "tool_call_middlewares": tuple(ToolWrapSpec(id=n, record=n) for n in outer),
        "middlewares": tuple(map(struct, structs)),
        "handlers": tuple(map(handler, inner)),
    }
    agent = agent_of(scenario).model_copy(update=changed)
    return scenario.model_copy(update={"agent": agent})


def agent_of(scenario: Scenario) -> AgentSpec:
    [agent] = scenario.all_agents
    return agent


def in_turn(scenario: Scenario) -> Scenario:
    agent = agent_of(scenario).model_copy(update={"sequential": True})
    return scenario.model_copy(update={"agent": agent})


def struct(name: str) -> MiddlewareSpec:
    wrap = ToolWrapSpec(record=name)
    return MiddlewareSpec(
        id=name,
        before_chat_model=RECORD,
        after_chat_model=RECORD,
        wrap_tool_call=WrapToolCallSpec(invokable=wrap, streamable=wrap),
    )


def handler(name: str) -> HandlerSpec:
    return HandlerSpec(
        id=name,
        before_agent=RECORD,
        before_model=RECORD,
        after_model=RECORD,
        after_agent=RECORD,
        wrap_model=ModelWrapSpec(record=name),
        wrap_invokable=ToolWrapSpec(record=name),
        wrap_streamable=ToolWrapSpec(record=name),
    )


sizes = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3))
bare = scenarios(middlewares=False, handlers=False, tool_call_middlewares=False)


def recorded(trace: Trace) -> list[Entry]:
    """Return what was recorded: where, by whom, in which run and call."""
    return [
        {**entry, **entry["data"]["data"]}
        for entry in entries(trace, "effect")
        if "by" in entry["data"]["data"]
    ]


def said_by(found: Iterable[Entry], *places: str) -> list[Any]:
    return [entry["by"] for entry in found if entry["at"] in places]


def names(kind: str, size: int) -> list[str]:
    return [f"{kind}{at}" for at in range(size)]


@under_every_profile
@searching(20)
@given(bare, sizes)
def test_pipelines_go_down_the_list(
    under: str, scenario: Scenario, sizes: tuple[int, int, int]
) -> None:
    trace = played(recording(scenario, sizes), under)
    found, structs, handlers = (
        recorded(trace),
        names("m", sizes[1]),
        names("h", sizes[2]),
    )
    requests, responses = (
        len(trace.of("model_request")),
        len(trace.of("model_response")),
    )
    after = structs + handlers
    last = list(handlers)
    if profile(under).after_hooks == "handlers_first":
        after = handlers + structs
    if profile(under).after_hooks == "reversed":
        after.reverse()
        last.reverse()
    times = 1 if profile(under).before_agent == "build" else len(scenario.runs)
    statuses = [entry["data"]["status"] for entry in entries(trace, "run_end")]
    successes = sum(s in {"completed", "returned_directly"} for s in statuses)
    ended = successes if profile(under).after_agent == "on_success" else 0

    assert said_by(found, "before_agent") == handlers * times
    assert said_by(found, *MODEL_HOOKS[:2]) == (structs + handlers) * requests
    assert said_by(found, *MODEL_HOOKS[2:]) == after * responses
    assert said_by(found, "after_agent") == last * ended


@under_every_profile
@searching(20)
@given(bare, sizes)
def test_onions_nest_with_the_first_outermost(
    under: str, scenario: Scenario, sizes: tuple[int, int, int]
) -> None:
    trace = played(recording(scenario, sizes), under)
    layers = [
        n for kind, size in zip("wmh", sizes, strict=True) for n in names(kind, size)
    ]
    handlers = names("h", sizes[2])
    around_tools = [e for e in recorded(trace) if e["at"] in AROUND_TOOLS]
    around_model = [e for e in recorded(trace) if e["at"] == "model_wrapper"]
    calls = by_call(around_tools)
    started = by_call(entries(trace, "tool_start"))

    assert phases(around_model) == onion(handlers) * len(trace.of("model_request"))
    for call_id, starts in started.items():
        assert phases(calls.get(call_id, ())) == onion(layers) * len(starts)
    assert calls.keys() <= started.keys()


def phases(found: Iterable[Entry]) -> list[tuple[str, str]]:
    return [(entry["phase"], entry["by"]) for entry in found]


def onion(layers: list[str]) -> list[tuple[str, str]]:
    inwards = [("enter", layer) for layer in layers]
    return inwards + [("exit", layer) for layer in reversed(layers)]


@under_every_profile
@searching(20)
@given(scenarios(failures=True))
def test_hooks_are_left_in_the_reverse_order_of_entering(
    under: str, scenario: Scenario
) -> None:
    trace = played(scenario, under)
    found = entries(trace, "hook_enter", "hook_exit")

    for run in {entry["run"] for entry in found}:
        mine = [entry for entry in found if entry["run"] == run]
        for calls in by_call(mine).values():
            list(open_hooks(calls))  # raises if a hook is left that is not innermost


def open_hooks(found: list[Entry]) -> Iterator[list[Any]]:
    """Yield the hooks that are open after each entry.

    One that raised is never left; it is found closed when one around it is.
    """
    open_: list[Any] = []
    for kind, name in brackets(found, "extension"):
        if kind == "enter":
            open_.append(name)
        else:
            while open_.pop() != name:
                pass
        yield open_


@under_every_profile
@searching(20)
@given(scenarios(middlewares=False, counting=True))
def test_handlers_are_entered_in_the_order_of_the_list(
    under: str, scenario: Scenario
) -> None:
    trace = played(scenario, under)
    found = entries(trace, "hook_enter")
    backwards = profile(under).after_hooks == "reversed"
    for hook in ("before_agent", "before_model", "after_model", "after_agent"):
        step = -1 if backwards and hook.startswith("after") else 1
        positions = [
            (entry["run"], step * entry["data"]["position"])
            for entry in found
            if entry["data"]["hook"] == hook
        ]
        for before, after in pairwise(positions):
            again = after[1] == positions[0][1]  # from the first one on
            assert after > before or again


def asked(messages: list[Any]) -> list[list[str]]:
    """Return the ids of the calls of each message that has some."""
    return [[c["id"] for c in m["tool_calls"]] for m in messages if m.get("tool_calls")]


def answered(messages: list[Any]) -> list[list[str]]:
    """Return the ids of results, those that stand together in one list."""
    groups = groupby(messages, lambda message: message["role"] == "tool")
    return [[m["tool_call_id"] for m in group] for tools, group in groups if tools]


@under_every_profile
@searching(40)
@given(bare)
def test_results_and_their_events_come_in_the_order_of_the_calls(
    under: str, scenario: Scenario
) -> None:
    trace = played(scenario, under)
    starts, ends = entries(trace, "run_start"), entries(trace, "run_end")
    for start, end in zip(starts, ends, strict=True):
        kept = profile(under).instruction_place == "in_history"
        system = kept and bool(agent_of(scenario).instruction)
        own = end["data"]["messages"][len(start["data"]["messages"]) + system :]
        told = [
            entry["call_id"]
            for entry in entries(trace, "event")
            if entry["run"] == end["run"] and entry["data"]["kind"] == "tool"
        ]
        turns = asked(own)

        wanted = list(chain.from_iterable(event_order(turns, end, under)))
        assert answered(own) == turns
        if profile(under).tool_events == "as_finished":
            assert sorted(told) == sorted(wanted)
        else:
            assert told == wanted


def event_order(turns: list[list[str]], end: Entry, under: str) -> list[list[str]]:
    """Return the calls as their events come: the one that ends the run may be last."""
    ending = end["data"]["status"] == "returned_directly"
    if not ending or profile(under).direct_event == "call_order":
        return turns
    last = end["data"]["answer"]["tool_call_id"]
    before = [call_id for call_id in turns[-1] if call_id != last]
    return [*turns[:-1], [*before, last]]


@under_every_profile
@searching(30)
@given(bare.map(in_turn))
def test_calls_of_a_sequential_agent_never_overlap(
    under: str, scenario: Scenario
) -> None:
    found = entries(played(scenario, under), "tool_start", "tool_end")
    if profile(under).sequential_streams == "opened":
        streamed = {at for at, each in enumerate(scenario.runs, 1) if each.streaming}
        found = [each for each in found if each["run"] not in streamed]

    for start, end in zip(found[::2], found[1::2], strict=True):
        assert (start["kind"], end["kind"]) == ("tool_start", "tool_end")
        assert start["call_id"] == end["call_id"]
