"""Calls side by side and runs that share nothing: what CONC asks for, and of whom."""

import pytest

from property_tests.check import PLAYED
from property_tests.checks import CHECKS as EVERY
from property_tests.mutants import mutant
from refengine.profile import SEED_001
from refengine.testing.scenario_files import read_scenario
from tests.deciding import (
    accused,
    decisions,
    scenario,
    told,
    undecided,
)

CHECKS = [check for check in EVERY if check.family == "CONC"]
OF = {check.clause: check for check in CHECKS}
SLOW = {"name": "slow", "result": "late", "delay_ms": 5}
BROKEN = {"name": "broken", "error": "boom"}
DONE = "assistant:done"
TWO = "assistant:[c1:slow({})][c2:broken({})]"


def test_the_fixed_world_of_every_clause_decides_it():
    assert undecided(CHECKS, "concurrency") == set()


def test_the_reference_engine_keeps_every_clause_in_every_fixed_world():
    assert accused(CHECKS, "concurrency") == set()


@pytest.mark.parametrize(
    ("under", "decided"), [("seed-001", True), ("langchain-1", False)]
)
def test_what_becomes_of_siblings_is_asked_where_they_are_to_finish(under, decided):
    world = scenario({"tools": [SLOW, BROKEN]}, TWO)

    assert bool(decisions(OF["CONC-003"], world, under=under)) is decided


@pytest.mark.parametrize(
    ("under", "order"),
    [
        ("seed-001", [[["c1"], ["c2"]]]),
        ("eino-draft", [[["c2"], ["c1"]]]),
        ("eino-0.8", []),
        ("langchain-1", []),
    ],
)
def test_where_the_event_of_a_direct_result_stands_is_a_posture(under, order):
    tools = [SLOW, {"name": "u", "result": "other"}]
    agent = {"tools": tools, "return_directly": {"slow": True}}
    world = scenario(agent, "assistant:[c1:slow({})][c2:u({})]", "assistant:done")
    found = decisions(OF["CONC-004"], world, under=under)

    assert all(each.holds for each in found)
    assert [each.expected for each in found] == order


def test_nothing_is_asked_of_tools_that_take_no_time():
    quick = {**SLOW, "delay_ms": 0}

    assert not decisions(OF["CONC-001"], scenario({"tools": [quick, BROKEN]}, TWO))


def test_nothing_is_asked_where_a_wrapper_gives_calls_another_id():
    wrap = {"set_input_call_id": "other"}
    agent = {
        "tools": [SLOW, BROKEN],
        "handlers": [{"id": "h", "wrap_invokable": wrap}],
    }

    assert not decisions(OF["CONC-006"], scenario(agent, TWO))


def test_a_stream_that_fails_before_it_is_told_is_a_failed_call():
    stream = {**SLOW, "kind": "streamable", "stream_error": "cut off"}
    (found,) = decisions(OF["CONC-006"], scenario({"tools": [stream, BROKEN]}, TWO))

    assert found.holds
    assert found.expected == [["c1"]]


def test_a_tool_that_takes_its_time_goes_on_when_every_call_has_begun():
    quick = {"name": "quick"}
    world = scenario({"tools": [SLOW, quick]}, "assistant:[c1:slow({})][c2:quick({})]")

    assert told("CONC-001", world) == [[["tool_end", 2]]]


def test_streams_of_sequential_calls_are_read_one_after_the_other():
    fault = "sequential-streams-opened-under-seed-001"
    opened = mutant(fault).wrong(SEED_001)
    tool = {"name": "s", "kind": "streamable", "chunks": ["a", "b"]}
    agent = {"tools": [tool], "sequential": True}
    world = scenario(agent, "assistant:[c1:s(1)][c2:s(2)]", DONE, streaming=True)

    assert [each.holds for each in decisions(OF["CONC-007"], world)] == [True]
    assert [each.holds for each in decisions(OF["CONC-007"], world, opened)] == [False]


def test_calls_of_one_id_are_asked_for_with_all_that_they_gave():
    tool = {"name": "t", "result": "<args>"}
    world = scenario({"tools": [tool]}, "assistant:[a:t(1)][a:t(2)]", "assistant:done")
    ran, _, sent, kept = told("CONC-014", world)

    assert ran == [["t", "1"], ["t", "2"]]
    assert sent == kept == [["a", "1"], ["a", "2"]]


def two_runs(agent, *script):
    runs = [{"input": ["user:hi"]}, {"input": ["user:hi"]}]
    data = {"agent": agent, "model_script": list(script), "runs": runs}
    return read_scenario(data, "a test")


def test_runs_with_other_answers_need_not_be_alike():
    def as_played(*script):
        found = decisions(OF["CONC-008"], two_runs({}, *script))
        return [each for each in found if each.variant == PLAYED]

    assert not as_played("assistant:a", "assistant:b")
    assert as_played("assistant:a", "assistant:a")


def test_runs_need_not_be_alike_where_an_extension_counts_them():
    counting = {"op": "append", "msg": "user:first", "on_call": 1}
    agent = {"handlers": [{"id": "h", "before_model": [counting]}]}
    world = two_runs(agent, "assistant:a", "assistant:a")

    assert not decisions(OF["CONC-008"], world)


def test_an_agent_that_is_refused_has_no_runs_to_compare():
    world = scenario({"max_iterations": 0}, "assistant:done")

    assert not decisions(OF["CONC-010"], world)
