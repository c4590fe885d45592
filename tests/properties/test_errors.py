"""Errors come out as the engine's own, at a point, and leave nothing open (ERR)."""

from typing import Any

from hypothesis import given

from refengine.testing import Scenario, Trace
from refengine.testing.strategies import scenarios
from tests.properties.support import entries, played, searching, under_every_profile

failing = scenarios(failures=True, unknown_calls=True, counting=True)
ROUTED = {"routing", "max_iterations", None}
"""What may end a run in which nothing fails: how profiles route, and no error."""


def points(trace: Trace) -> set[Any]:
    """Return the points at which building or running ended, None without an error."""
    ended = entries(trace, "build_error", "event")
    return {entry["data"].get("error", {}).get("point") for entry in ended}


@under_every_profile
@searching(25)
@given(failing)
def test_every_error_is_the_engine_s_own(under: str, scenario: Scenario) -> None:
    assert "harness" not in points(played(scenario, under))


@under_every_profile
@searching(25)
@given(scenarios())
def test_there_is_no_error_where_nothing_fails(under: str, scenario: Scenario) -> None:
    assert points(played(scenario, under)) <= ROUTED


@under_every_profile
@searching(25)
@given(failing)
def test_an_error_ends_a_run_and_is_its_last_event(
    under: str, scenario: Scenario
) -> None:
    trace = played(scenario, under)
    for end in entries(trace, "run_end"):
        told = [e for e in entries(trace, "event") if e["run"] == end["run"]]
        failed = ["error" in entry["data"] for entry in told]

        assert any(failed) == (end["data"]["status"] == "error")
        assert not any(failed[:-1])


@under_every_profile
@searching(25)
@given(failing)
def test_nothing_happens_after_a_run_has_ended(under: str, scenario: Scenario) -> None:
    found = entries(played(scenario, under))
    ended = {e["run"]: at for at, e in enumerate(found) if e["kind"] == "run_end"}
    late = [e for at, e in enumerate(found) if at > ended.get(e["run"], len(found))]

    assert late == []


@under_every_profile
@searching(25)
@given(failing)
def test_every_stream_that_was_begun_is_closed(under: str, scenario: Scenario) -> None:
    trace = played(scenario, under)
    begun = {
        (e["run"], e["call_id"]) for e in entries(trace, "tool_chunk", "model_chunk")
    }
    closed = {(e["run"], e["call_id"]) for e in entries(trace, "stream_close")}

    assert begun <= closed
