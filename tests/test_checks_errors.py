"""Where errors go: the checks of ERR, under every profile."""

import pytest

from property_tests.checks import errors, handed_back
from tests.deciding import accused, decisions, scenario, undecided

HANDED_BACK = tuple(each for each in handed_back.CHECKS if each.family == "ERR")
CHECKS = (*errors.CHECKS, *HANDED_BACK)
OF = {check.clause: check for check in CHECKS}
CALL = "assistant:[c1:t({})]"
BOOM = {"name": "t", "error": "boom"}


def handlers(*wraps):
    """Return handlers with these wrappers of invokable tools, outermost first."""
    return [{"id": f"h{n}", "wrap_invokable": wrap} for n, wrap in enumerate(wraps)]


def test_the_fixed_world_of_every_clause_decides_it():
    assert undecided(CHECKS, "errors") == set()


def test_the_reference_engine_keeps_every_clause_in_every_fixed_world():
    assert accused(CHECKS, "errors") == set()


def test_the_failing_operation_is_the_one_whose_turn_it_is():
    second = {"op": "error", "text": "second", "on_call": 2}
    late = {"op": "error", "text": "third", "on_call": 3}
    agent = {
        "tools": [{"name": "t"}],
        "handlers": [{"id": "h", "before_model": [late, second]}],
    }
    (found,) = decisions(OF["ERR-002"], scenario(agent, CALL, "assistant:done"))

    assert found.holds
    assert found.expected["error"]["text"] == "second"


def test_equal_names_are_numbered_in_the_error_that_is_asked_for():
    fails = [{"op": "error", "text": "boom"}]
    same = [{"id": "h", "before_model": []}, {"id": "h", "before_model": fails}]
    (found,) = decisions(OF["ERR-002"], scenario({"handlers": same}, "assistant:done"))

    assert found.holds
    assert found.expected["error"]["of"] == "h[1]"


def test_an_error_that_a_wrapper_caught_is_none_that_ends_the_run():
    agent = {"tools": [BOOM], "handlers": handlers({"catch_error": "caught"}, {})}
    world = scenario(agent, CALL, "assistant:done")

    assert decisions(OF["ERR-007"], world) == []
    assert decisions(OF["ERR-008"], world) == []
    (found,) = decisions(OF["ERR-009"], world)
    assert found.holds


def test_a_wrapper_that_answers_by_itself_has_nothing_to_catch():
    wraps = {"short_circuit": "mine", "catch_error": "caught"}, {"factory_error": "no"}
    agent = {"tools": [{"name": "t"}], "handlers": handlers(*wraps)}

    assert decisions(OF["ERR-009"], scenario(agent, CALL, "assistant:done")) == []


def test_of_two_failing_calls_another_family_says_which_one_counts():
    agent = {"tools": [BOOM]}
    world = scenario(agent, "assistant:[c1:t({})][c2:t({})]")

    assert decisions(OF["ERR-007"], world) == []
    assert all(each.holds for each in decisions(OF["ERR-008"], world))


@pytest.mark.parametrize(
    ("under", "status"), [("seed-001", "max_iterations"), ("eino-0.9", "error")]
)
def test_what_running_out_of_iterations_is_called_is_a_posture(under, status):
    agent = {"tools": [{"name": "t"}], "max_iterations": 1}
    world = scenario(agent, CALL, CALL)
    (found,) = decisions(OF["ERR-015"], world, under=under)

    assert found.holds
    assert found.expected[1] == status


@pytest.mark.parametrize(("under", "clause"), [("seed-001", 3), ("eino-0.9", 4)])
def test_where_an_error_of_before_agent_comes_out_is_a_posture(under, clause):
    fails = [{"op": "error", "text": "boom"}]
    world = scenario({"handlers": [{"id": "h", "before_agent": fails}]})
    decided = {n for n in (3, 4) if decisions(OF[f"ERR-00{n}"], world, under=under)}

    assert decided == {clause}


def test_what_a_wrapper_raised_reaches_the_one_around_it_that_catches():
    wraps = {"catch_error": "caught <error>"}, {"error": "not so"}
    agent = {"tools": [BOOM], "handlers": handlers(*wraps)}
    world = scenario(agent, CALL, "assistant:done")

    assert decisions(OF["ERR-023"], world) == []
    (found,) = decisions(OF["ERR-009"], world)
    assert found.holds
    assert found.expected == "caught not so"


def test_a_wrapper_does_not_catch_what_it_raises_itself():
    agent = {
        "tools": [{"name": "t"}],
        "handlers": handlers({"error": "not so", "catch_error": "caught"}),
    }
    (found,) = decisions(OF["ERR-023"], scenario(agent, CALL))

    assert found.holds
    assert found.expected["error"]["by"] == "h0"


def test_a_tool_that_a_wrapper_kept_a_call_from_has_not_raised():
    agent = {"tools": [BOOM], "handlers": handlers({"error": "not so"})}
    world = scenario(agent, CALL)

    assert decisions(OF["ERR-007"], world) == []
    (found,) = decisions(OF["ERR-023"], world)
    assert found.expected["error"]["text"] == "not so"


def test_the_wrapper_of_a_struct_has_no_name_that_others_know():
    wraps = {"invokable": {"error": "not so"}}
    agent = {
        "tools": [{"name": "t"}],
        "middlewares": [{"id": "m", "wrap_tool_call": wraps}],
    }
    (found,) = decisions(OF["ERR-023"], scenario(agent, CALL))

    assert found.holds
    assert found.expected["error"]["hook"] == "wrap_tool_call"
    assert "by" not in found.expected["error"]


def test_equal_names_are_numbered_where_a_model_wrapper_raised():
    same = [{"id": "h", "wrap_model": {}}, {"id": "h", "wrap_model": {"error": "no"}}]
    (found,) = decisions(OF["ERR-024"], scenario({"handlers": same}, "assistant:done"))

    assert found.holds
    assert found.expected["error"]["of"] == "h[1]"


def test_a_model_that_a_wrapper_kept_a_call_from_has_not_failed():
    agent = {"handlers": [{"id": "h", "wrap_model": {"error": "not so"}}]}
    world = scenario(agent, {"error": "no model"})

    assert decisions(OF["ERR-005"], world) == []
    assert all(each.holds for each in decisions(OF["ERR-024"], world))
