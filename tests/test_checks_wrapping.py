"""Where what wrappers ask for is decided by the profile, or by what they did."""

import pytest

from tests.deciding import handlers, scenario, told

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
TOOLS = {"tools": [{"name": "t", "result": "r"}]}


def wrapped(*wraps):
    return {**TOOLS, **handlers(*({"wrap_invokable": wrap} for wrap in wraps))}


@pytest.mark.parametrize(
    ("under", "ran", "event"),
    [("seed-001", "c1", "c1"), ("eino-draft", "c1", "x"), ("langchain-1", "x", "x")],
)
def test_where_a_changed_call_id_goes_is_a_posture(under, ran, event):
    world = scenario(wrapped({"set_input_call_id": "x"}), CALL, DONE)

    assert told("WRAP-015", world, under) == [[[ran]], [[event]]]


def test_a_change_without_effect_is_told_only_where_next_was_called():
    refusing = {"short_circuit": "cached", "set_input_name": "u"}

    assert told("WRAP-016", scenario(wrapped(refusing), CALL, DONE)) == []
    assert told("WRAP-016", scenario(wrapped({"set_input_name": "u"}), CALL, DONE)) == [
        [["u", "c1"]]
    ]


def test_arguments_that_a_wrapper_changed_are_asked_of_each_that_is_further_in():
    agent = wrapped({"rewrite_args": "new"}, {})

    assert told("WRAP-008", scenario(agent, CALL, DONE)) == [[["new"]], [["new"]]]
    assert told("WRAP-007", scenario(agent, CALL, DONE)) == []


def test_every_wrapper_that_tries_again_has_its_tries_inside_it():
    agent = wrapped({"call_next": 3}, {})

    assert [len(e) for e in told("WRAP-006", scenario(agent, CALL, DONE))] == [3, 3]
