"""The worlds of the default judgement ship, and are those that the strategies draw."""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from property_tests.corpus import SuiteCorpus
from property_tests.defaults import EXAMPLES, SEED
from property_tests.drawn_worlds import DRAWN, drawn_by, drawn_worlds, write_drawn
from property_tests.judging.inputs import make_corpus
from tools.drawn_worlds import drawn_now


def test_worlds_that_ship_are_those_that_the_strategies_draw(tmp_path: Path) -> None:
    if drawn_by() != version("hypothesis"):
        pytest.skip(f"they were drawn by Hypothesis {drawn_by()}, here is another")

    write_drawn(drawn_now(), drawn_by(), tmp_path / "worlds.json.gz")

    drawn = SuiteCorpus(tuple(drawn_worlds(tmp_path / "worlds.json.gz")), SEED)
    ships = SuiteCorpus(tuple(drawn_worlds()), SEED)
    assert drawn.digest == ships.digest, "python -m tools.drawn_worlds"


def test_what_is_written_twice_is_the_same_file(tmp_path: Path) -> None:
    write_drawn(tuple(drawn_worlds()), drawn_by(), tmp_path / "again.json.gz")

    assert (tmp_path / "again.json.gz").read_bytes() == DRAWN.read_bytes()


def test_the_default_judgement_needs_no_hypothesis(monkeypatch) -> None:
    with_it = make_corpus(EXAMPLES, SEED)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "property_tests.generating", raising=False)

    without = make_corpus(EXAMPLES, SEED)

    assert without.corpus.digest == with_it.corpus.digest
    assert without.told == with_it.told


@pytest.mark.parametrize("asked", [(EXAMPLES - 1, SEED), (EXAMPLES, SEED + 1)])
def test_other_worlds_than_the_default_ones_need_it(monkeypatch, asked) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    for name in ("generating", "grafting", "drawing"):
        monkeypatch.delitem(sys.modules, f"property_tests.{name}", raising=False)

    made = make_corpus(*asked)

    assert f"{asked[0]} generated worlds were not run" in made.told[-1]
    assert all(each.fixed or each.recorded for each in made.corpus.worlds)
