"""Streamed, invoked and re-chunked runs end the same if operations distribute (STR).

``scenarios(distributes=True)`` is the precondition: no operation that looks at chunks,
the same wrapper for both kinds of tool, one result whichever way a tool is run.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from refengine.testing import Scenario, Trace, parse_message
from refengine.testing.strategies import distributes, rechunked, scenarios
from tests.properties.support import (
    Entry,
    by_call,
    data_without,
    entries,
    played,
    searching,
    under_every_profile,
    without,
)

worlds = scenarios(distributes=True, failures=True, unknown_calls=True, counting=True)

EITHER = {
    f"{hook}{kind}": hook
    for hook in ("wrap_", "wrap_tool_call.", "tool_call_middlewares.")
    for kind in ("invokable", "streamable")
}
"""A tool with both kinds follows the run, and so do the hooks around it."""


def in_mode(scenario: Scenario, *, streaming: bool) -> Scenario:
    runs = [r.model_copy(update={"streaming": streaming}) for r in scenario.runs]
    return scenario.model_copy(update={"runs": tuple(runs)})


def ends(trace: Trace) -> list[Entry]:
    """Return how runs ended: status, answer, all messages, and the errors."""
    errors = [e for e in entries(trace, "event") if "error" in e["data"]]
    for entry in errors:
        point = entry["data"]["error"]
        entry["data"]["error"] = {**point, "hook": either(point.get("hook"))}
    return entries(trace, "build_error", "run_end") + errors


def either(hook: str | None) -> str | None:
    """Return the hook of a wrapper by a name that both kinds of tool share."""
    return EITHER.get(hook, hook) if hook else None


def executions(trace: Trace) -> dict[Any, list[Entry]]:
    """Return what tools ran, by call: name, arguments, implementation, context."""
    started = entries(trace, "tool_start", "tool_error")
    return by_call(data_without(entry, "mode") for entry in started)


def hooks(trace: Trace) -> dict[Any, list[Entry]]:
    """Return which hooks were entered, by call; the two kinds of tool are one."""
    found = []
    for entry in entries(trace, "hook_enter"):
        hook = entry["data"]["hook"]
        data = {**entry["data"], "hook": EITHER.get(hook, hook)}
        found.append({**entry, "data": data})
    return by_call(found)


def requests(trace: Trace) -> list[Entry]:
    return entries(trace, "model_request", "model_error")


@under_every_profile
@searching(50)
@given(worlds)
def test_a_streamed_run_ends_as_an_invoked_one(under: str, scenario: Scenario) -> None:
    invoked = played(in_mode(scenario, streaming=False), under)
    streamed = played(in_mode(scenario, streaming=True), under)

    assert ends(streamed) == ends(invoked)
    assert requests(streamed) == requests(invoked)
    assert executions(streamed) == executions(invoked)
    assert hooks(streamed) == hooks(invoked)


def joined(trace: Trace) -> list[Entry]:
    """Return the trace without chunk boundaries: streams as the whole they make."""
    found = []
    for entry in entries(trace):
        if entry["kind"] == "model_chunk":
            continue
        if entry["kind"] == "event" and "stream" in entry["data"]:
            found.append(with_whole_stream(entry))
        else:
            found.append(entry)
    return found


def with_whole_stream(entry: Entry) -> Entry:
    chunks = [parse_message(chunk) for chunk in entry["data"]["stream"]]
    text = "".join(chunk.content for chunk in chunks)
    calls = [call for chunk in chunks for call in chunk.tool_calls]
    left = without(entry["data"], "stream", "times")
    data = {**left, "text": text, "calls": calls}
    return {**entry, "data": data}


@under_every_profile
@searching(50)
@given(worlds.flatmap(lambda s: st.tuples(st.just(s), rechunked(s))))
def test_other_chunks_change_nothing_but_where_they_are_cut(
    under: str, worlds: tuple[Scenario, Scenario]
) -> None:
    first, then = (played(scenario, under) for scenario in worlds)

    assert joined(then) == joined(first)


@searching(40)
@given(scenarios(distributes=True))
def test_worlds_that_distribute_are_made_of_what_does(scenario: Scenario) -> None:
    agent = scenario.agent
    assert agent is not None
    made = (*agent.tool_call_middlewares, *agent.middlewares, *agent.handlers)

    assert all(map(distributes, made))


@under_every_profile
@searching(40)
@given(
    # One run: a later one may have a call of the same id, and still the earlier result.
    scenarios(
        middlewares=False, handlers=False, tool_call_middlewares=False, max_runs=1
    )
)
def test_a_result_is_all_that_the_tool_gave(under: str, scenario: Scenario) -> None:
    trace = played(scenario, under)
    gave = {(e["run"], e["call_id"]): e["data"] for e in entries(trace, "tool_end")}
    for end in entries(trace, "run_end"):
        for message in end["data"]["messages"]:
            key = end["run"], message.get("tool_call_id")
            if key in gave:
                assert message.get("content", "") == gave[key]["result"]
