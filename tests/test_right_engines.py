"""Engines of different build, written from the contract: none of them is accused."""

from pathlib import Path

import pytest

from compat.engines.loading import load_engine
from property_tests.checks import CHECKS
from property_tests.judging.inputs import make_corpus
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from property_tests.probing import probe
from property_tests.smoke import smoke

RIGHT = sorted((Path(__file__).parent / "engines/right").glob("*.py"))
ENOUGH = 70
"""So many clauses, at least, a right engine is judged by here."""
FREE = {
    *("streaming", "lock_step", "before_model", "wrap_model", "several_handlers"),
    *("concurrent_calls", "return_directly", "next_twice", "run_options"),
    *("struct_instruction", "sequential", "after_agent", "lone_surrogates"),
}
"""Capabilities that right engines have, and right engines have not."""
SHARE = 3
"""One world in so many is played: it takes minutes to play all of them five times."""
SMALL = 215
"""So many lines, at most, such an engine has: it is read before it is believed."""


@pytest.fixture(scope="module")
def worlds():
    return make_corpus(0, 8).corpus.worlds[::SHARE]


@pytest.mark.parametrize("path", RIGHT, ids=lambda each: each.stem)
def test_an_engine_that_is_right_is_not_accused(path, worlds) -> None:
    engine = load_engine(f"{path}:Door")
    checks = [each for each in CHECKS if each.applies(engine.capabilities)]
    player = VariantPlayer(engine.engine, engine.profile, engine.capabilities)
    judged = [judge(player, each, checks) for each in worlds]

    failed = {clause for each in judged for clause in each.failed}
    assert any("ERR-031" in each.decided for each in judged)  # it can say what it kept
    assert failed == set()
    assert {clause for each in judged for clause in each.errors} == set()
    assert len({clause for each in judged for clause in each.decided}) > ENOUGH


@pytest.mark.parametrize("path", RIGHT, ids=lambda each: each.stem)
def test_the_door_of_a_right_engine_works_and_has_what_it_declares(path) -> None:
    engine = load_engine(f"{path}:Door")

    assert [each.got for each in smoke(engine) if not each.passed] == []
    assert probe(engine)[0] == frozenset()


def test_five_builds_are_among_them() -> None:
    builds = {each.stem for each in RIGHT}

    assert builds == {"queued", "sequential", "threads", "callbacks", "generator"}
    assert all(len(each.read_text("utf-8").splitlines()) <= SMALL for each in RIGHT)


@pytest.mark.parametrize("capability", sorted(FREE))
def test_some_have_a_capability_and_some_do_without(capability: str) -> None:
    declared = [load_engine(f"{each}:Door").capabilities for each in RIGHT]

    assert any(capability in each for each in declared)
    assert any(capability not in each for each in declared)
