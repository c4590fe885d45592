"""The checks of RD, under every profile."""

import pytest

from tests.deciding import handlers, scenario, told

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
TOOL = {"name": "t", "result": "T"}


def flagging(name, value):
    return {"op": "set_return_directly", "name": name, "value": value}


BOTH = [TOOL, {"name": "u", "result": "U"}]
TWO = "assistant:[c1:t({})][c2:u({})]"


@pytest.mark.parametrize(
    ("under", "end"), [("seed-001", "goes on"), ("eino-0.9", "returned_directly")]
)
def test_what_a_configured_false_does_is_a_posture(under, end):
    world = scenario({"tools": [TOOL], "return_directly": {"t": False}}, CALL, DONE)

    assert told("RD-003", world, under) == [end]


@pytest.mark.parametrize(
    ("under", "end"),
    [
        ("seed-001", "goes on"),
        ("eino-0.7", "returned_directly"),
        ("eino-draft", "returned_directly"),
    ],
)
def test_whether_a_handler_can_clear_a_flag_is_a_posture(under, end):
    clears = {"before_agent": [flagging("t", value=False)]}
    agent = {"tools": [TOOL], "return_directly": {"t": True}, **handlers(clears)}

    assert told("RD-005", scenario(agent, CALL, DONE), under) == [end]


@pytest.mark.parametrize(
    ("under", "end"), [("seed-001", "returned_directly"), ("langchain-1", "goes on")]
)
def test_whether_one_direct_call_is_enough_is_a_posture(under, end):
    world = scenario({"tools": BOTH, "return_directly": {"t": True}}, TWO, DONE)

    assert told("RD-009", world, under) == [end]


@pytest.mark.parametrize(("under", "id_"), [("seed-001", "c1"), ("langchain-1", None)])
def test_the_answer_is_the_result_of_the_direct_call(under, id_):
    world = scenario({"tools": BOTH, "return_directly": {"t": True}}, TWO, DONE)

    ids = [each.tool_call_id for each in told("RD-010", world, under)]
    assert ids == ([] if id_ is None else [id_])


@pytest.mark.parametrize(
    ("under", "order"),
    [("seed-001", ["c1", "c2"]), ("eino-draft", ["c2", "c1"]), ("eino-0.9", ["c1"])],
)
def test_whether_the_ending_event_is_held_back_is_a_posture(under, order):
    world = scenario({"tools": BOTH, "return_directly": {"t": True}}, TWO, DONE)

    assert told("RD-013", world, under) == [order]


@pytest.mark.parametrize(
    ("under", "end"), [("seed-001", "goes on"), ("eino-0.9", "returned_directly")]
)
def test_whether_a_flag_needs_its_tool_is_a_posture(under, end):
    agent = {"return_directly": {"t": True}, "unknown_tools_handler": "no <name>"}
    world = scenario({"tools": BOTH[1:], **agent}, CALL, DONE)

    assert told("RD-012", world, under) == [end]


def test_a_batch_that_an_error_ended_decides_nothing():
    broken = {"name": "t", "error": "boom"}
    world = scenario({"tools": [broken], "return_directly": {"t": True}}, CALL)

    assert told("RD-001", world) == []


@pytest.mark.parametrize(
    ("under", "flags"), [("seed-001", {}), ("eino-0.9", {"t": True})]
)
def test_which_flags_the_first_handler_sees_is_a_posture(under, flags):
    agent = {"tools": [TOOL], "return_directly": {"t": True}}
    world = scenario({**agent, **handlers({"before_agent": []})}, DONE)

    assert told("RD-014", world, under) == [flags]
