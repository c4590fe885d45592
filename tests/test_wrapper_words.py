"""Words for what hooks and wrappers of a world make of their own, and half a result."""

from typing import Any

import pytest

from refengine.events import AgentEvent
from refengine.messages import Message
from refengine.profile import SEED_001
from refengine.testing import ReferenceEngine, Trace, play, read_scenario, run
from refengine.testing.result_events import ReceivedEvent, unlike
from refengine.testing.wrapping import stream_of


def played(**agent: Any) -> Trace:
    world = {
        "agent": {"tools": [{"name": "t", "error": "boom"}], **agent},
        "model_script": ["assistant:[c1:t({})]", "assistant:done"],
        "runs": [{"input": ["user:hi"]}],
    }
    return run(play(read_scenario(world), ReferenceEngine(SEED_001)))


def wrapping(*wraps: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": f"h{at}", "wrap_invokable": e} for at, e in enumerate(wraps)]


@pytest.mark.parametrize(
    ("wraps", "results"),
    [
        ([{"catch_error": "<error>"}, {"error_instead": "not so"}], ["not so"]),
        ([{"catch_error": "<error>"}, {}], ["boom"]),
        ([{"catch_error": "<error>", "error_instead": "not so"}], ["boom"]),
    ],
)
def test_a_wrapper_raises_its_own_error_in_the_place_of_one_that_it_saw(
    wraps: list[dict[str, Any]], results: list[str]
) -> None:
    trace = played(handlers=wrapping(*wraps))

    events = [each.data for each in trace.of("event") if each.data["kind"] == "tool"]
    assert [each["message"] for each in events] == [f"tool(c1):{x}" for x in results]


def test_a_result_that_broke_off_is_kept_without_a_message() -> None:
    event = AgentEvent("tool", ("agent",), call_id="c1")
    half = AgentEvent(
        "tool", ("agent",), Message("tool", "r", tool_call_id="c1"), "c1", chunks=("r",)
    )
    none = AgentEvent("tool", ("agent",), call_id="c1", chunks=("r",))
    stream = AgentEvent("tool", ("agent",), call_id="c1", stream=stream_of("r"))
    received = [ReceivedEvent(stream, broke=True)]

    assert unlike(received, [half]) is not None
    assert unlike(received, [none]) is None
    assert unlike([ReceivedEvent(event)], [event]) is None


def test_what_a_hook_makes_anew_is_still_in_its_run() -> None:
    own = {"op": "give_back", "shape": "own_context"}
    kept = {"op": "runlocal_set", "key": "n", "value": 1}
    trace = played(
        tools=[{"name": "t", "result": "r"}],
        handlers=[
            {"id": "h", "before_model": [kept, own]},
            {"id": "i", "before_model": [{"op": "runlocal_get", "key": "n"}]},
        ],
    )

    notes: list[Any] = [each.data["data"] for each in trace.of("effect")]
    assert [each["runlocal_get"]["found"] for each in notes] == [True, True]
