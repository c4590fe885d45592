"""What an extension is: the checks of EXT."""

import pytest

from tests.deciding import OF, decisions, scenario

DONE = "assistant:done"


def test_an_identity_handler_is_asked_for_nothing_where_it_may_be_seen():
    world = scenario({"handlers": [{"id": "h", "before_model": []}]}, DONE)

    assert len(decisions(OF["EXT-001"], world)) == 2
    assert not decisions(OF["EXT-001"], world, under="langgraph-prebuilt-1")


def test_handlers_without_an_id_are_renamed_by_an_identity_handler():
    world = scenario({"handlers": [{"before_model": []}]}, DONE)

    assert not decisions(OF["EXT-001"], world)


def test_a_handler_that_stands_behind_a_failing_one_had_no_turn():
    fails = {"id": "h0", "before_model": [{"op": "error", "text": "boom"}]}
    world = scenario({"handlers": [fails, {"id": "h1", "before_model": []}]}, DONE)

    assert not decisions(OF["EXT-002"], world)


def test_a_handler_without_hooks_takes_part_before_the_agent():
    (found, *_) = decisions(OF["EXT-002"], scenario({"handlers": [{"id": "h"}]}, DONE))

    assert found.holds
    assert found.expected == [("h", 0, 1)]


@pytest.mark.parametrize(
    ("under", "expected"), [("seed-001", [True]), ("eino-0.9", [2])]
)
def test_one_object_twice_is_a_posture(under, expected):
    agent = {"handlers": [{"id": "h", "before_model": []}, {"same_as": 0}]}
    found = decisions(OF["EXT-004"], scenario(agent, DONE), under=under)

    assert all(each.holds for each in found)
    assert [each.expected for each in found] == expected


def test_an_error_at_build_tells_the_number_of_the_handler():
    fails = {"id": "h", "before_agent": [{"op": "error", "text": "boom"}]}
    agent = {"handlers": [{"id": "h", "before_agent": []}, fails]}
    (found,) = decisions(OF["EXT-005"], scenario(agent, DONE))

    assert found.holds
    assert found.expected == "h[1]"
