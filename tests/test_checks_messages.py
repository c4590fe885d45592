"""The checks of MSG, under every profile."""

import pytest

from property_tests.checks.histories import HistoryPoint, Segment
from refengine.messages import Message
from refengine.testing.trace import Observation
from tests.deciding import handler, scenario, told

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
SEEN = Observation("run_start", 1, 0, {})


@pytest.mark.parametrize(
    ("under", "kept"), [("seed-001", ["hi", "more"]), ("langgraph-prebuilt-1", ["hi"])]
)
def test_whether_before_edits_are_kept_is_a_posture(under, kept):
    more = [{"op": "append", "msg": "user:more"}]
    world = scenario({"handlers": [handler(before_model=more, after_model=[])]}, DONE)
    (found,) = told("MSG-005", world, under)

    assert [each.content for each in found] == kept


@pytest.mark.parametrize(
    ("under", "answer"), [("seed-001", "done"), ("eino-0.8", "thanks")]
)
def test_the_answer_behind_a_message_of_another_role_is_a_posture(under, answer):
    thanks = [{"op": "append", "msg": "user:thanks"}]
    world = scenario({"handlers": [handler(after_model=thanks)]}, DONE)
    (found,) = told("MSG-015", world, under)

    assert found.content == answer


def test_a_message_too_many_counts_to_one_part_only():
    given = (Message("user", "hi"),)
    parts = (Segment("system", ()), Segment("given", given))
    point = HistoryPoint("model side", parts, (Message("system"), *given), SEEN)

    assert [(part.label, list(got)) for part, _, got in point.parts()] == [
        ("system", [Message("system")]),
        ("given", list(given)),
    ]


def test_a_response_that_is_last_is_found_behind_whatever_was_kept():
    kept, response = (Message("user", "hi"),), Message("assistant", "done")
    parts = (Segment("kept", kept), Segment("response", (response,)))
    point = HistoryPoint("after", parts, (*kept, *kept, response), SEEN)

    assert [list(got) for _, _, got in point.parts()] == [[*kept, *kept], [response]]


def test_a_result_that_nothing_tells_is_asked_for_its_name_only():
    wanted = Message("tool", tool_call_id="c1", name="t")
    got = Message("tool", "whatever", tool_call_id="x", name="t", id="7")
    segment = Segment("results", (wanted,), frozenset({0}))

    assert segment.fitted([got]) == [got]


def test_a_run_that_failed_has_no_history_to_hand_back():
    world = scenario({"tools": [{"name": "t", "error": "boom"}]}, CALL, DONE)

    assert told("MSG-011", world) == []
