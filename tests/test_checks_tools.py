"""The checks of TOOL, under every profile."""

from dataclasses import replace

import pytest

from property_tests.checks import told as told_of
from property_tests.mutants import mutant
from property_tests.mutants.models import told as telling
from refengine.profile import profile
from tests.deciding import OF, decisions, handlers, scenario, told

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
TOOL = {"name": "t", "result": "T"}


def adding(*tools):
    return {"op": "append_tools", "tools": list(tools)}


def removing(name):
    return {"op": "remove_tool", "name": name}


OTHER = {"name": "t", "result": "other"}
MORE = {"name": "u", "result": "U"}


@pytest.mark.parametrize(
    ("under", "names"),
    [("seed-001", ["t", "u"]), ("eino-0.9", ["t", "u", "t"])],
)
def test_whether_equal_names_fold_is_a_posture(under, names):
    world = scenario({"tools": [TOOL, MORE, OTHER]}, CALL, DONE)

    assert told("TOOL-003", world, under) == [names]
    assert told("TOOL-015", world, under) == ["other"]


def test_tools_of_structs_stand_first_where_the_profile_has_them():
    agent = {"tools": [TOOL], "middlewares": [{"additional_tools": [MORE]}]}

    assert told("TOOL-002", scenario(agent, DONE), "langchain-1") == [["u", "t"]]


@pytest.mark.parametrize(
    ("under", "offered"),
    [("seed-001", []), ("eino-draft", ["t"]), ("eino-0.8", []), ("eino-0.9", ["t"])],
)
def test_what_no_tools_means_is_a_posture(under, offered):
    agent = {"tools": [TOOL], **handlers({"before_agent": [removing("t")]})}

    assert told("TOOL-008", scenario(agent, DONE), under) == [offered]


@pytest.mark.parametrize(
    ("under", "wanted"),
    [("seed-001", "HookReturnError"), ("eino-0.8", []), ("eino-0.9", ["t"])],
)
def test_what_null_means_is_a_posture(under, wanted):
    null = {"before_agent": [{"op": "set_tools", "value": None}]}
    agent = {"tools": [TOOL], **handlers(null)}

    assert told("TOOL-009", scenario(agent, DONE), under) == [wanted]


def test_a_tool_put_back_after_null_is_the_only_one():
    null = {"before_agent": [{"op": "set_tools", "value": None}]}
    agent = {"tools": [TOOL], **handlers(null, {"before_agent": [adding(MORE)]})}

    assert told("TOOL-007", scenario(agent, DONE), "eino-0.9") == [["u"]]
    assert told("TOOL-009", scenario(agent, DONE), "eino-0.9") == []


def test_wrappers_see_the_tools_that_those_outside_left():
    hides = [{"wrap_model": {"hide_tools": [name]}} for name in ("t", "u")]
    agent = {"tools": [TOOL, MORE], **handlers(*hides)}

    assert told("TOOL-012", scenario(agent, DONE)) == [["t", "u"], ["u"], []]


@pytest.mark.parametrize(("under", "wanted"), [("seed-001", []), ("eino-0.9", "runs")])
def test_whether_a_hidden_tool_runs_is_a_posture(under, wanted):
    agent = {"tools": [TOOL], **handlers({"wrap_model": {"hide_tools": ["t"]}})}

    assert told("TOOL-018", scenario(agent, CALL, DONE), under) == [wanted]


def test_a_call_that_a_wrapper_answers_need_not_reach_its_tool():
    agent = {"tools": [TOOL], **handlers({"wrap_invokable": {"short_circuit": "no"}})}

    assert told("TOOL-016", scenario(agent, CALL, DONE)) == []


@pytest.mark.parametrize(
    ("under", "wanted"),
    [
        ("seed-001", [{"class": "ToolNotFound", "of": "gone"}]),
        ("langchain-1", ["answered", "c1"]),
    ],
)
def test_whether_an_unknown_tool_ends_the_run_is_a_posture(under, wanted):
    world = scenario({"tools": [TOOL]}, "assistant:[c1:gone({})]", DONE)

    assert told("TOOL-019", world, under) == wanted


@pytest.mark.parametrize("under", ["seed-001", "langchain-1"])
def test_a_call_that_unknown_tools_handler_answers_ends_no_run(under):
    agent = {"tools": [TOOL], "unknown_tools_handler": "no <name>"}
    world = scenario(agent, "assistant:[c1:gone({})]", DONE)

    assert told("TOOL-019", world, under) == ["answered"]


def test_a_hidden_tool_that_ran_under_another_call_id_is_told():
    wraps = {"wrap_model": {"hide_tools": ["t"]}}
    renaming = {"wrap_invokable": {"set_input_call_id": "x"}}
    world = scenario({"tools": [TOOL], **handlers(wraps, renaming)}, CALL, DONE)
    broken = mutant("taken-out-tools-run").wrong(profile("seed-001"))

    assert [each.got for each in decisions(OF["TOOL-018"], world, broken)] == [["t"]]


def test_the_outermost_wrapper_is_given_the_same_tools_each_time():
    agent = {"tools": [TOOL, MORE], **handlers({"wrap_model": {"hide_tools": ["u"]}})}

    assert told("TOOL-010", scenario(agent, CALL, DONE)) == [["t", "u"]]


def test_calls_are_those_that_after_hooks_left():
    left = {"op": "replace_last_if_tool_calls", "msg": "assistant:[c9:u({})]"}
    agent = {"tools": [TOOL, MORE], **handlers({"after_model": [left]})}

    assert told("TOOL-016", scenario(agent, CALL, DONE)) == [["u", "U"]]


def reordered(change):
    """Return an engine that tells the parameters of tools in another order."""
    return telling(
        lambda info: replace(
            info, parameters={name: change(info.parameters[name]) for name in "ba"}
        )
    )(profile("seed-001"))


@pytest.mark.parametrize(("change", "right"), [(list, True), (sorted, False)])
def test_keys_of_a_schema_have_no_order_and_its_lists_have_one(change, right):
    [check] = told_of.CHECKS
    tool = {**TOOL, "parameters": {"a": ["y", "x"], "b": ["x", "y"]}}
    world = scenario({"tools": [tool]}, DONE)

    found = decisions(check, world, reordered(change))

    assert [each.holds for each in found] == [right]
