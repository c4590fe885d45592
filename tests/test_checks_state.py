"""Runs that ask, go on, and are cancelled: the checks of INT, SER and of leaving."""

import pytest

from property_tests.checks import (
    cancelling,
)
from property_tests.corpus import CorpusWorld
from property_tests.judging.world import looks_at
from property_tests.variants import CHANGES, UNASKED
from refengine.testing.scenario_files import ScenarioError, read_scenario
from tests.deciding import OF, scenario, told, worlds

ASKS = {"name": "a", "result": "r", "body": [{"op": "ask", "payload": "a?"}]}
CALL = "assistant:[c1:a({})]"
DONE = "assistant:done"
KEPT = {"input": ["user:hi"], "checkpoint": "k"}


def kept(agent, *script, resumes=({"resume": "k"},), **more):
    """Return a world of one run that is kept, and those that resume it."""
    runs = [{**KEPT, **more}, *resumes]
    data = {"agent": agent, "model_script": list(script), "runs": runs}
    return read_scenario(data, "a test")


def test_variants_of_worlds_that_stop_are_for_clauses_that_know_it():
    stopping = [
        each
        for each in worlds("state")
        if each.scenario.keeps or any(run.cancel for run in each.scenario.runs)
    ]

    assert stopping
    assert all(each.only or each.varied is not None for each in stopping)


def test_a_world_may_be_for_a_clause_alone():
    world = kept({"tools": [ASKS]}, CALL, DONE)
    entry = CorpusWorld(world, "state", fixed=True, only=("INT-006",))

    assert looks_at(OF["INT-006"], entry)
    assert not looks_at(OF["INT-007"], entry)


def test_the_law_compares_with_a_world_in_which_nobody_asks():
    wrap = {"ask": {"payload": "h?"}}
    hooks = {"before_model": [{"op": "ask", "payload": "?"}], "wrap_invokable": wrap}
    world = kept({"tools": [ASKS], "handlers": [{"id": "h", **hooks}]}, CALL, DONE)
    plain = CHANGES[UNASKED](world)

    assert plain is not None
    assert not plain.keeps
    assert "ask" not in plain.model_dump_json(exclude_defaults=True)
    assert len(plain.runs) == 1


@pytest.mark.parametrize(
    ("agent", "more"),
    [
        ({"tools": [{**ASKS, "result": "<answer>"}]}, {}),
        ({"tools": [ASKS]}, {"options": {"user": "one"}}),
    ],
    ids=["an answer in a text", "options"],
)
def test_the_law_is_not_asked_where_runs_cannot_be_alike(agent, more):
    assert CHANGES[UNASKED](kept(agent, CALL, DONE, **more)) is None


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 1.5, "x", [True], {"a": None}])
def test_nothing_is_asked_of_values_that_can_be_kept(value):
    hooks = {"before_model": [{"op": "ctx_set", "key": "k", "value": value}]}
    world = kept({"handlers": [{"id": "h", **hooks}]}, DONE, resumes=())

    assert not OF["SER-007"].meant(world)


def cancelled(agent, *script, when="tool_start", nth=1, **more):
    return scenario(agent, *script, cancel={"when": when, "nth": nth}, **more)


def test_a_run_that_ends_before_it_is_cancelled_is_not_asked():
    world = cancelled({}, DONE, when="tool_start")

    assert not any(told(check.clause, world) for check in cancelling.CHECKS)


def test_a_stream_that_gave_nothing_need_not_be_closed():
    slow = {"name": "slow", "result": "r", "delay_ms": 5}
    world = cancelled({"tools": [slow]}, "assistant:[c1:slow({})]", streaming=True)

    assert told("RUN-024", world) == [1]


def test_a_run_that_was_cancelled_in_its_answer_leaves_no_calls():
    world = cancelled({}, "assistant:a b c", when="model_chunk", streaming=True)

    assert told("RUN-023", world) == []


@pytest.mark.parametrize("names", [["second", "second"], [""]])
def test_a_model_to_fall_back_on_has_a_name_of_its_own(names):
    with pytest.raises(ScenarioError, match="'fall_back' names each model once"):
        scenario({"retry": {"fall_back": names}}, DONE)
