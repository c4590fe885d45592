"""The checks of INS, under every profile."""

import pytest

from refengine.testing.scenario_files import read_scenario
from tests.deciding import handlers, scenario, told

CALL = "assistant:[c1:t({})]"
DONE = "assistant:done"
TOOL = {"name": "t", "result": "T"}


@pytest.mark.parametrize(
    ("under", "text"),
    [
        ("seed-001", "base\nmore\n"),
        ("eino-0.8", "base\n\nmore"),
        ("langchain-1", "base\nmore"),
    ],
)
def test_separator_and_empty_addition_are_postures(under, text):
    structs = [{"additional_instruction": "more"}, {"id": "empty"}]
    world = scenario({"instruction": "base", "middlewares": structs}, DONE)

    assert told("INS-004", world, under) == [[text]]


@pytest.mark.parametrize(
    ("under", "text"), [("seed-001", "\nmore"), ("eino-draft", "more")]
)
def test_what_an_empty_instruction_becomes_is_a_posture(under, text):
    world = scenario({"middlewares": [{"additional_instruction": "more"}]}, DONE)

    assert told("INS-005", world, under) == [[text]]


@pytest.mark.parametrize("under", ["seed-001", "langchain-1"])
def test_the_instruction_is_found_in_history_and_before_each_call(under):
    agent = {"instruction": "base", "tools": [TOOL]}
    world = scenario(agent, CALL, DONE)

    assert told("INS-001", world, under) == [["base"]]
    assert told("INS-010", world, under) == [["system", "base"]]


def test_a_history_that_hooks_edit_need_not_begin_with_the_instruction():
    edit = [{"op": "keep_last", "n": 1}]
    agent = {"instruction": "base", "tools": [TOOL], **handlers({"before_model": edit})}

    assert told("INS-010", scenario(agent, CALL, DONE)) == []


def test_a_surrogate_in_the_instruction_is_compared_as_what_it_stands_for():
    world = scenario({"instruction": "a <u+d83d>"}, DONE)

    assert told("INS-001", world) == [["a \ud83d"]]


def test_a_phase_that_fails_leaves_no_instruction_to_look_at():
    fails = {"before_agent": [{"op": "error", "text": "boom"}]}
    world = scenario({"instruction": "base", **handlers(fails)}, DONE)

    assert told("INS-008", world, "eino-0.9") == []


@pytest.mark.parametrize(("under", "seen"), [("seed-001", 1), ("eino-0.9", 2)])
def test_the_number_of_a_run_counts_phases(under, seen):
    op = {"op": "append_instruction", "text": "<run>"}
    data = {
        "agent": handlers({"before_agent": [op]}),
        "model_script": [DONE],
        "runs": [{"input": ["user:hi"]}, {"input": ["user:again"]}],
    }

    found = told("INS-009", read_scenario(data, "a test"), under)
    assert found[-1] == [str(seen)]
