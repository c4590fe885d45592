"""Runs that ask, go on, and are cancelled: the checks of INT, SER and of leaving."""

import json

import pytest

from property_tests.checks import (
    cancelling,
)
from property_tests.checks.kept_runs import cuts, left_open
from property_tests.corpus import CorpusWorld
from property_tests.judging.world import looks_at
from property_tests.variants import CHANGES, UNASKED
from refengine.profile import SEED_001
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import ScenarioError, read_scenario
from tests.deciding import OF, case_of, scenario, told, worlds

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


@pytest.mark.parametrize(
    ("under", "ends"), [("seed-001", [True]), ("eino-0.8", [False])]
)
def test_whether_an_interrupt_can_be_swallowed_is_a_posture(under, ends):
    tool = {"name": "t", "result": "r", "interrupt": {"info": "?"}}
    wrap = {"catch_error": "caught"}
    agent = {"tools": [tool], "handlers": [{"id": "h", "wrap_invokable": wrap}]}

    assert told("INT-001", scenario(agent, "assistant:[c1:t({})]", DONE), under) == ends


def test_hooks_of_an_iteration_that_begins_again_are_not_counted():
    hooks = {"before_model": [{"op": "ask", "payload": "?"}]}
    world = kept({"handlers": [{"id": "h", **hooks}]}, DONE)

    assert told("INT-002", world) == [1]
    assert told("INT-002", world, "eino-0.8") == []


def test_nothing_is_asked_of_a_run_that_nobody_resumes():
    world = kept({"tools": [ASKS]}, CALL, DONE, resumes=())

    assert told("INT-007", world)
    assert not any(told(clause, world) for clause in ("INT-002", "INT-004", "INT-011"))


def test_a_resume_that_must_be_refused_goes_on_with_nothing():
    wrong = {"resume": "k", "answers": {"nobody": 1}}
    world = kept({"tools": [ASKS]}, CALL, DONE, resumes=[wrong])
    played = case_of(world, OF["INT-013"], ReferenceEngine(SEED_001), "seed-001").played

    assert [*cuts(played)] == []
    assert told("INT-013", world) == [["UnknownInterruptError", []]]


def test_what_was_open_when_a_run_was_interrupted_is_the_call_that_asks():
    quick = {"name": "t", "result": "r"}
    script = "assistant:[c1:t({})][c2:a({})]"
    agent = {"tools": [quick, ASKS], "handlers": [{"id": "h", "wrap_invokable": {}}]}
    world = kept(agent, script, DONE)
    played = case_of(world, OF["INT-004"], ReferenceEngine(SEED_001), "seed-001").played
    [cut] = cuts(played)

    assert [(e.kind, e.call_id) for e in left_open(cut.before)] == [
        ("hook_enter", "c2"),
        ("tool_start", "c2"),
    ]


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


@pytest.mark.parametrize(("keeps", "refused"), [(True, [True]), (False, [False])])
def test_extra_is_looked_at_exactly_where_runs_are_kept(keeps, refused):
    text = json.dumps({"role": "user", "content": "new", "extra": {"n": 2**64}})
    hooks = {"before_model": [{"op": "append", "msg": text}]}
    agent = {"handlers": [{"id": "h", **hooks}]}
    world = kept(agent, DONE, resumes=()) if keeps else scenario(agent, DONE)

    assert told("MSG-019", world) == refused


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

    assert told("RUN-022", world) == ["cancelled"]
    assert told("RUN-023", world) == []


@pytest.mark.parametrize("names", [["second", "second"], [""]])
def test_a_model_to_fall_back_on_has_a_name_of_its_own(names):
    with pytest.raises(ScenarioError, match="'fall_back' names each model once"):
        scenario({"retry": {"fall_back": names}}, DONE)
