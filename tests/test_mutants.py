"""The registry of mutants: each is refuted by a world, and the right engine is not."""

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from property_tests.mutants import (
    MUTANTS,
    WITNESSED,
    DuplicateMutantError,
    Mutant,
    UnknownMutantError,
    distinct,
    mutant,
)
from property_tests.mutants.doors import ADAPTED, NATIVE
from property_tests.registry import FAMILIES, contract
from refengine.profile import profile
from refengine.testing import Scenario, first_divergence
from refengine.testing.strategies import scenarios
from tools.pages import witnesses as command
from tools.pages.witnesses import (
    FILE,
    PAGE,
    SEED,
    NotRefutedError,
    Witness,
    page,
    played,
    refuted,
    smallest,
    stored,
    text_of,
)

SHARED = 30
"""So many worlds are drawn once for all mutants of a kind, and refute most of them."""
searching = settings(
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

each_mutant = pytest.mark.parametrize("broken", WITNESSED, ids=lambda each: each.id)
each_witness = pytest.mark.parametrize(
    "witness", stored(), ids=lambda witness: witness.mutant
)


def test_ids_are_unique_and_can_be_typed() -> None:
    ids = [each.id for each in MUTANTS]

    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", each) for each in ids)


def test_an_id_that_is_given_twice_is_refused() -> None:
    first = mutant("separator-after")
    second = replace(first, about="It is another one.")

    with pytest.raises(DuplicateMutantError, match=r"'separator-after': .*another one"):
        distinct((first, mutant("onions-flat"), second))
    assert distinct((first,)) == (first,)


@pytest.mark.parametrize("broken", MUTANTS, ids=lambda each: each.id)
def test_a_mutant_violates_clauses_or_families_of_the_contract(broken: Mutant) -> None:
    families = {each.partition("-")[0] for each in broken.violates}
    ids = {each for each in broken.violates if "-" in each}

    assert broken.violates
    assert families <= set(FAMILIES)
    assert ids <= set(contract().ids)


def test_every_mutant_has_a_witness_and_every_witness_a_mutant() -> None:
    assert [each.mutant for each in stored()] == [each.id for each in WITNESSED]


@each_mutant
def test_a_mutant_says_what_is_wrong_and_where_it_comes_from(broken: Mutant) -> None:
    assert broken.about.endswith(".")
    assert bool(broken.quote) != broken.is_own
    assert profile(broken.under).name == broken.under


@each_witness
def test_a_witness_refutes_its_mutant_where_it_says(witness: Witness) -> None:
    assert refuted(mutant(witness.mutant), witness.scenario) == witness


@each_witness
def test_the_right_engine_does_the_same_each_time(witness: Witness) -> None:
    broken = mutant(witness.mutant)
    traces = [played(witness.scenario, broken.right, broken.under) for _ in range(2)]

    assert first_divergence(*traces) is None


@pytest.mark.parametrize(
    "witness",
    [each for each in stored() if mutant(each.mutant).right is NATIVE],
    ids=lambda witness: witness.mutant,
)
def test_the_shipped_adapter_is_not_refuted(witness: Witness) -> None:
    under = mutant(witness.mutant).under
    traces = [played(witness.scenario, door, under) for door in (NATIVE, ADAPTED)]

    assert first_divergence(*traces) is None


@cache
def first_worlds(choices: frozenset[tuple[str, bool | int]]) -> list[Scenario]:
    """Return the first worlds of a search under these choices, drawn once for all."""
    found: list[Scenario] = []

    @seed(SEED)
    @settings(searching, max_examples=SHARED)
    @given(scenarios(**dict(choices)))
    def draw(scenario: Scenario) -> None:
        found.append(scenario)

    draw()
    return found


def test_the_first_worlds_refute_most_mutants() -> None:
    """The others take longer: ``python -m tools.pages witnesses`` finds them anew."""
    found = [each for each in WITNESSED if is_refuted_at_once(each)]

    assert len(found) > 0.5 * len(WITNESSED)


def is_refuted_at_once(broken: Mutant) -> bool:
    worlds = first_worlds(frozenset((broken.worlds or {}).items()))
    return any(refuted(broken, world) for world in worlds)


def test_a_mutant_that_is_none_is_told() -> None:
    broken = mutant("separator-after")
    same = Mutant(
        id="same",
        about="It is the right engine.",
        source="own",
        violates=("INS",),
        right=broken.right,
        wrong=broken.right,
        worlds=broken.worlds,
    )

    with pytest.raises(NotRefutedError, match=r"20 worlds .* do not refute .*'same'"):
        smallest(same, examples=20)


def test_an_unknown_mutant_is_told_with_those_that_are_written_nearly_so() -> None:
    with pytest.raises(UnknownMutantError, match=r"did you mean .*separator-after"):
        mutant("seperator-after")
    with pytest.raises(UnknownMutantError, match="'refengine mutant list' shows all"):
        mutant("0123456789")


def test_witnesses_are_stored_as_they_are_written() -> None:
    assert text_of(stored()) == FILE.read_text("utf-8")


def test_page_says_what_is_stored() -> None:
    assert page(stored()) == PAGE.read_text("utf-8")


def test_headings_of_the_page_go_down_step_by_step() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    depths = [len(line) - len(line.lstrip("#")) for line in lines if line[:1] == "#"]

    assert depths[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(depths))


def test_command_writes_both_files(tmp_path, monkeypatch, capsys) -> None:
    witnesses, written = tmp_path / "witnesses.json", tmp_path / "page.md"
    witnesses.write_text(FILE.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(command, "FILE", witnesses)
    monkeypatch.setattr(command, "PAGE", written)
    command.main(["sketch-000-blank-line"])

    assert capsys.readouterr().out.startswith("sketch-000-blank-line: observation ")
    assert written.read_text("utf-8") == page(stored(witnesses))
    assert len(stored(witnesses)) == len(WITNESSED)


def test_an_unknown_name_is_refused_with_the_nearest_before_anything_is_written(
    capsys, monkeypatch
) -> None:
    monkeypatch.setattr(command, "smallest", None)
    with pytest.raises(SystemExit) as raised:
        command.main(["sketch-000-blank-lines"])

    assert raised.value.code == 2
    told = "'sketch-000-blank-lines' has no witness; near it: sketch-000-blank-line"
    assert told in capsys.readouterr().err
