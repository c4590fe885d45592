"""The checks of MSG, under every profile."""

import pytest

from property_tests.checks import callers, messages
from property_tests.checks.histories import HistoryPoint, Segment
from property_tests.mutants.engines.messages import MUTANTS
from refengine.messages import Message
from refengine.testing.trace import Observation
from tests.deciding import accused, decisions, scenario, surviving, undecided

OF_CALLERS = [each for each in callers.CHECKS if each.family == "MSG"]
CHECKS = (*messages.CHECKS, *OF_CALLERS)
OF = {check.clause: check for check in CHECKS}
CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
SEEN = Observation("run_start", 1, 0, {})


def handler(name="h", **hooks):
    return {"id": name, **hooks}


def told(clause, world, under="seed-001"):
    """Return what was expected, after seeing that the reference engine does it."""
    found = decisions(OF[clause], world, under=under)
    assert all(each.holds for each in found)
    return [each.expected for each in found]


def test_the_fixed_world_of_every_clause_decides_it():
    assert undecided(CHECKS, "messages") == set()


def test_the_reference_engine_keeps_every_clause_in_every_fixed_world():
    assert accused(CHECKS, "messages") == set()


def test_every_clause_has_a_mutant():
    named = {clause for mutant in MUTANTS for clause in mutant.violates}

    assert named == set(OF)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.id)
def test_a_mutant_is_told_by_the_fixed_world_of_its_clause(mutant):
    assert surviving(mutant, CHECKS, "messages") == set()


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
