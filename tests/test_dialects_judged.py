"""Each dialect: its clauses are decided, kill mutants, and let the reference pass."""

import logging

import pytest

from compat.dialects.callbacks.profile import CALLBACKS_PROFILES
from compat.dialects.flow.profile import FLOW_PROFILES
from compat.dialects.stream_loop.profile import LOOP_PROFILES
from compat.engines.callbacks.reference import CallbacksV1, CallbacksV2
from compat.engines.flow.reference import FlowDialect
from compat.engines.observers.reference import ObservedReference
from compat.engines.stream_loop.reference import StreamLoop, StreamLoopLinear
from property_tests.dialects.deciding import WorldDecider
from property_tests.dialects.dialects import dialect_named, dialects
from property_tests.dialects.matrix import killed
from property_tests.dialects.table import DIALECTS
from property_tests.matrix import ERROR
from property_tests.registry import SeedSource, unmatched
from refengine.profile import PROFILES
from tests.test_flow_judged import run
from tests.test_registry import SEEDS

EACH = pytest.mark.parametrize("dialect", dialects(), ids=lambda each: each.name)
MUTANTS = [
    pytest.param(dialect, mutant, id=mutant.id)
    for dialect in dialects()
    for mutant in dialect.mutants
]
SMALL = {
    "stream-loop": [
        kind(each) for kind in (StreamLoop, StreamLoopLinear) for each in LOOP_PROFILES
    ],
    "callbacks": [
        CallbacksV1(),
        *(CallbacksV2(each) for each in CALLBACKS_PROFILES if each.clients != "none"),
    ],
    "observers": [ObservedReference(each) for each in PROFILES],
}
"""Doors that are played in drawn worlds here; those of flow are in test_flow_drawn."""
DRAWN = 60


def doors(of):
    """Return the doors as parameters, each with its dialect."""
    return [
        pytest.param(dialect_named(name), each, id=f"{each.name}-{each.profile.name}")
        for name, mine in of.items()
        for each in mine
    ]


@EACH
def test_every_checked_clause_has_one_check_and_every_check_a_clause(dialect) -> None:
    assert unmatched(dialect.contract, dialect.checks) == ()


@EACH
def test_every_checked_clause_has_a_fixed_world_and_a_mutant(dialect) -> None:
    checked = {each.id for each in dialect.contract.checked}

    assert {each.clause for each in dialect.fixed()} == checked
    assert {name for each in dialect.mutants for name in each.violates} == checked


@EACH
def test_every_mutant_has_a_name_of_its_own(dialect) -> None:
    names = [each.id for each in dialect.mutants]

    assert sorted(set(names)) == sorted(names)


@EACH
def test_every_quote_of_a_clause_is_in_its_seed(dialect) -> None:
    sources = [each.source for each in dialect.contract.clauses]
    quoting = [each for each in sources if isinstance(each, SeedSource)]

    assert [each for each in quoting if each.quote not in SEEDS[each.seed]] == []


def test_the_reference_of_every_dialect_is_played() -> None:
    assert {"flow", *SMALL} == {each.name for each in DIALECTS}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("dialect", "door"), doors({"flow": map(FlowDialect, FLOW_PROFILES), **SMALL})
)
def test_a_reference_passes_under_every_profile(dialect, door, caplog) -> None:
    caplog.set_level(logging.ERROR, logger="refengine.flow")
    decider = WorldDecider(dialect, dialect.door(door), dialect.checks)
    decided: set[str] = set()
    for each in dialect.fixed():
        judged = decider.judge(each.scenario)
        assert judged.failed == {}
        decided.update(judged.decided)

    assert decided == set(decider.applying)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("dialect", "door"), doors(SMALL))
def test_no_drawn_world_accuses_a_reference(dialect, door) -> None:
    decider = WorldDecider(dialect, dialect.door(door), dialect.checks)
    for each in dialect.drawn(DRAWN, 0):
        judged = decider.judge(each.scenario)
        assert judged.failed == {}


@pytest.mark.parametrize(("dialect", "mutant"), MUTANTS)
def test_a_mutant_is_killed_by_each_clause_that_it_names(dialect, mutant) -> None:
    found = killed(dialect, mutant, dialect.fixed())

    assert set(mutant.violates) <= set(found.by)
    assert ERROR not in found.by
    assert found.faults == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("stream-loop", "loop-safe"), ("stream-loop-linear", "loop-adr")),
        (("callbacks", "callbacks-v2"), ("callbacks-v1", "callbacks-v1")),
    ],
)
def test_the_command_judges_both_doors_to_a_dialect(capsys, one, other) -> None:
    code, out, _ = run(
        capsys, "conform", one[0], other[0], "--examples", "20", "--jobs", "1"
    )

    assert code == 0
    for name, profile in (one, other):
        assert f"CONFORMANT {name}, profile {profile}" in out


def test_a_dialect_that_a_door_of_ours_is_not_of_is_refused(capsys) -> None:
    code, _, err = run(capsys, "conform", "flow", "--dialect", "stream-loop")

    assert code == 2
    assert "--dialect stream-loop with flow, which is of dialect flow" in err
