"""What an engine declines is not asked of it, and the table of the docs says what."""

import pytest

from compat.engines.capabilities import CAPABILITIES, OF_GRAPHS, OF_HOOKS, Refusing
from compat.engines.langchain import LangChainEngine
from compat.engines.needs import is_crowded
from compat.engines.reference import LegacyDoor
from property_tests.checks import CHECKS
from property_tests.judging.inputs import make_corpus
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from property_tests.reducing import CUT, reduced
from refengine.profile import SEED_001
from tests.engines.lacking import LOST, Lacking
from tools.pages.__main__ import pages_now
from tools.pages.tables import without

ALL = frozenset(CAPABILITIES)
EVERY = 5
"""Of the worlds that a capability changes every fifth one is played here."""


@pytest.fixture(scope="module")
def worlds():
    found = make_corpus(0, 0).corpus.worlds
    return [each for each in found if not each.repeat and not is_crowded(each.scenario)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("capability", sorted(LOST))
def test_an_engine_that_lacks_what_it_declines_is_not_accused(capability, worlds):
    declared = ALL - {capability}
    checks = [each for each in CHECKS if each.applies(declared)]
    engine = Refusing(Lacking(capability), declared)
    player = VariantPlayer(engine, SEED_001, declared)
    changed = [
        each for each in worlds if reduced(each.scenario, declared) != each.scenario
    ]
    judged = [judge(player, each, checks) for each in changed[::EVERY]]

    assert {clause for each in judged for clause in each.failed} == set()
    assert {clause for each in judged for clause in each.errors} == set()


def test_the_table_of_the_docs_is_the_one_of_the_checks() -> None:
    [(page, text)] = pages_now(["capabilities"])

    assert page.read_text("utf-8") == text


def test_each_row_counts_what_stops_to_apply() -> None:
    streaming = ALL - {"streaming"}
    lost = {each.clause for each in CHECKS if not each.applies(streaming)}

    assert set(without("streaming")) == lost
    assert lost


def test_worlds_are_cut_down_to_known_capabilities_only() -> None:
    assert CUT <= ALL


def test_doors_take_the_hooks_of_handlers_from_one_place() -> None:
    assert OF_HOOKS.isdisjoint(LegacyDoor.capabilities)
    assert OF_HOOKS - LangChainEngine.capabilities == {
        "wrap_streamable",
        "adapted_structs",
    }
    assert OF_GRAPHS.issubset(LangChainEngine.capabilities)
