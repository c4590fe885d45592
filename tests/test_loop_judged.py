"""Family LOOP: each clause is decided, kills a mutant, and lets the reference pass."""

import pytest

from compat.cli.main import main
from compat.dialects.stream_loop.profile import LOOP_PROFILES
from compat.engines.stream_loop.reference import StreamLoop, StreamLoopLinear
from property_tests.dialects.deciding import WorldDecider
from property_tests.dialects.matrix import killed
from property_tests.registry import SeedSource, unmatched
from property_tests.stream_loop.loop_dialect import STREAM_LOOP
from tests.test_registry import SEEDS

CHECKED = {each.id for each in STREAM_LOOP.contract.checked}
DOORS = [
    pytest.param(kind(each), id=f"{kind.name}-{each.name}")
    for kind in (StreamLoop, StreamLoopLinear)
    for each in LOOP_PROFILES
]
DRAWN = 60


def test_every_checked_clause_has_one_check_and_every_check_a_clause() -> None:
    assert unmatched(STREAM_LOOP.contract, STREAM_LOOP.checks) == ()


def test_every_checked_clause_has_a_fixed_world_and_a_mutant() -> None:
    named = {name for each in STREAM_LOOP.mutants for name in each.violates}

    assert {each.clause for each in STREAM_LOOP.fixed()} == CHECKED
    assert named == CHECKED


def test_every_mutant_has_a_name_of_its_own() -> None:
    names = [each.id for each in STREAM_LOOP.mutants]

    assert sorted(set(names)) == sorted(names)


def test_every_quote_of_a_clause_is_in_its_seed() -> None:
    sources = [each.source for each in STREAM_LOOP.contract.clauses]
    quotes = [each.quote for each in sources if isinstance(each, SeedSource)]

    assert [each for each in quotes if each not in SEEDS["002"]] == []


@pytest.mark.parametrize("engine", DOORS)
def test_the_reference_passes_under_every_profile_in_both_forms(engine) -> None:
    decider = WorldDecider(STREAM_LOOP, STREAM_LOOP.door(engine), STREAM_LOOP.checks)
    decided: set[str] = set()
    for each in STREAM_LOOP.fixed():
        judged = decider.judge(each.scenario)
        assert (judged.failed, judged.errors) == ({}, {})
        decided.update(judged.decided)

    assert decided == set(decider.applying)


@pytest.mark.parametrize("engine", DOORS)
def test_no_drawn_world_accuses_the_reference(engine) -> None:
    decider = WorldDecider(STREAM_LOOP, STREAM_LOOP.door(engine), STREAM_LOOP.checks)
    for each in STREAM_LOOP.drawn(DRAWN, 0):
        judged = decider.judge(each.scenario)
        assert (judged.failed, judged.errors) == ({}, {})


@pytest.mark.parametrize("mutant", STREAM_LOOP.mutants, ids=lambda each: each.id)
def test_a_mutant_is_killed_by_each_clause_that_it_names(mutant) -> None:
    found = killed(STREAM_LOOP, mutant, STREAM_LOOP.fixed())

    assert set(mutant.violates) <= set(found.by)
    assert found.faults == ()


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Return the exit code and what was printed, in one line each."""
    with pytest.raises(SystemExit) as left:
        main([*arguments])
    code = left.value.code
    assert isinstance(code, int)
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


def test_the_command_judges_both_doors(capsys) -> None:
    doors = ("stream-loop", "stream-loop-linear")
    code, out, _ = run(capsys, "conform", *doors, "--examples", "20", "--jobs", "1")

    assert code == 0
    assert "CONFORMANT stream-loop, profile loop-safe" in out
    assert "CONFORMANT stream-loop-linear, profile loop-adr" in out


def test_a_dialect_that_a_door_of_ours_is_not_of_is_refused(capsys) -> None:
    code, _, err = run(capsys, "conform", "flow", "--dialect", "stream-loop")

    assert code == 2
    assert "--dialect stream-loop with flow, which is of dialect flow" in err
