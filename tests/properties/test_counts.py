"""What happens how often: hooks N times a point, a tool once a call."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from refengine.profile import profile
from refengine.testing import Scenario, Trace
from refengine.testing.strategies import scenarios, with_identity
from tests.properties.support import (
    Entry,
    entries,
    played,
    searching,
    under_every_profile,
)


@st.composite
def with_handlers(draw: st.DrawFn, **choices: Any) -> tuple[Scenario, int]:
    """Draw a world of struct middlewares and up to twenty identity handlers."""
    scenario = draw(scenarios(handlers=False, **choices))
    count = draw(st.integers(0, 20))
    for _ in range(count):
        scenario = with_identity(scenario, 0)
    return scenario, count


def passes(trace: Trace, under: str) -> dict[str, int]:
    """Return how often each point of a hook was passed, from what the world saw."""
    modes = Counter(entry["data"]["mode"] for entry in entries(trace, "tool_start"))
    ended = [entry["data"]["status"] for entry in entries(trace, "run_end")]
    successes = sum(status in {"completed", "returned_directly"} for status in ended)
    kinds = [entry["data"].get("class") for entry in entries(trace, "event")]
    refused = kinds.count("UnansweredCallsError")  # before the model is asked
    built = profile(under).before_agent == "build"
    called = profile(under).after_agent == "on_success"
    return {
        "before_agent": len(trace.of("build" if built else "run_start")),
        "before_model": len(trace.of("model_request")) + refused,
        "wrap_model": len(trace.of("model_request")),
        "after_model": len(trace.of("model_response")),
        "wrap_invokable": modes["invoke"],
        "wrap_streamable": modes["stream"],
        "after_agent": successes if called else 0,
    }


@under_every_profile
@searching(30)
@given(with_handlers())
def test_each_handler_is_called_at_each_point(
    under: str, world: tuple[Scenario, int]
) -> None:
    scenario, count = world
    trace = played(scenario, under)
    called = Counter(
        entry["data"]["hook"]
        for entry in entries(trace, "hook_enter")
        if entry["data"]["extension"].startswith("identity")
    )
    wanted = {hook: count * times for hook, times in passes(trace, under).items()}

    assert {hook: called[hook] for hook in wanted} == wanted


def results(run: Entry) -> Counter[Any]:
    """Return how often each call has a result in the history that a run left."""
    left = run["data"]["messages"]
    return Counter(m.get("tool_call_id") for m in left if m["role"] == "tool")


@under_every_profile
@searching(30)
@given(with_handlers(middlewares=False, tool_call_middlewares=False, max_runs=1))
def test_a_tool_runs_once_a_call(under: str, world: tuple[Scenario, int]) -> None:
    scenario, _ = world
    trace = played(scenario, under)
    [run] = entries(trace, "run_end")
    given = Counter(m.get("tool_call_id") for m in started_with(trace))
    given.pop(None, None)
    executed = Counter(each.call_id for each in trace.of("tool_start"))

    assert executed == results(run) - given


def started_with(trace: Trace) -> list[Any]:
    [start] = entries(trace, "run_start")
    found: list[Any] = start["data"]["messages"]
    return found
