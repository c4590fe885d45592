"""Family CB: each clause is decided, kills a mutant, and lets the reference pass."""

import pytest

from compat.dialects.callbacks.profile import CALLBACKS_PROFILES
from compat.engines.callbacks.reference import CallbacksV1, CallbacksV2
from property_tests.callbacks.callbacks_dialect import CALLBACKS
from property_tests.dialects.deciding import WorldDecider
from property_tests.dialects.matrix import killed
from property_tests.registry import SeedSource, unmatched
from tests.test_loop_judged import run
from tests.test_registry import SEEDS

CHECKED = {each.id for each in CALLBACKS.contract.checked}
DOORS = [
    CallbacksV1(),
    *(CallbacksV2(each) for each in CALLBACKS_PROFILES if each.clients != "none"),
]
EACH_DOOR = pytest.mark.parametrize("engine", DOORS, ids=lambda each: each.profile.name)
DRAWN = 60


def test_every_checked_clause_has_one_check_and_every_check_a_clause() -> None:
    assert unmatched(CALLBACKS.contract, CALLBACKS.checks) == ()


def test_every_checked_clause_has_a_fixed_world_and_a_mutant() -> None:
    named = {name for each in CALLBACKS.mutants for name in each.violates}

    assert {each.clause for each in CALLBACKS.fixed()} == CHECKED
    assert named == CHECKED


def test_every_mutant_has_a_name_of_its_own() -> None:
    names = [each.id for each in CALLBACKS.mutants]

    assert sorted(set(names)) == sorted(names)


def test_every_quote_of_a_clause_is_in_its_seed() -> None:
    sources = [each.source for each in CALLBACKS.contract.clauses]
    quotes = [each.quote for each in sources if isinstance(each, SeedSource)]

    assert [each for each in quotes if each not in SEEDS["004"]] == []


@EACH_DOOR
def test_the_reference_passes_under_every_profile_in_both_versions(engine) -> None:
    decider = WorldDecider(CALLBACKS, CALLBACKS.door(engine), CALLBACKS.checks)
    decided: set[str] = set()
    for each in CALLBACKS.fixed():
        judged = decider.judge(each.scenario)
        assert (judged.failed, judged.errors) == ({}, {})
        decided.update(judged.decided)

    assert decided == set(decider.applying)


@EACH_DOOR
def test_no_drawn_world_accuses_the_reference(engine) -> None:
    decider = WorldDecider(CALLBACKS, CALLBACKS.door(engine), CALLBACKS.checks)
    for each in CALLBACKS.drawn(DRAWN, 0):
        judged = decider.judge(each.scenario)
        assert (judged.failed, judged.errors) == ({}, {})


@pytest.mark.parametrize("mutant", CALLBACKS.mutants, ids=lambda each: each.id)
def test_a_mutant_is_killed_by_each_clause_that_it_names(mutant) -> None:
    found = killed(CALLBACKS, mutant, CALLBACKS.fixed())

    assert set(mutant.violates) <= set(found.by)
    assert found.faults == ()


def test_the_command_judges_both_doors(capsys) -> None:
    doors = ("callbacks", "callbacks-v1")
    code, out, _ = run(capsys, "conform", *doors, "--examples", "20", "--jobs", "1")

    assert code == 0
    assert "CONFORMANT callbacks, profile callbacks-v2" in out
    assert "CONFORMANT callbacks-v1, profile callbacks-v1" in out
