"""Very many extensions: the clauses of DEEP, and worlds that are written short."""

import json
from dataclasses import replace

import pytest

from property_tests.corpus import SuiteCorpus, fixed_worlds, read_corpus
from property_tests.judging.world import judge
from property_tests.playing import VariantPlayer
from refengine.extensions import MAX_EXTENSIONS
from refengine.profile import LANGCHAIN_1, profile
from refengine.testing.doors import ReferenceEngine
from refengine.testing.scenario_files import ScenarioError
from tests.deciding import OF, decisions, scenario, worlds

CHECKS = [check for check in OF.values() if check.family == "DEEP"]
DONE = "assistant:done"


def number(agent) -> int:
    """Return how many extensions an agent has."""
    return len(agent.middlewares) + len(agent.handlers)


def test_every_clause_is_decided_for_the_reference_engine_in_its_fixed_world():
    # Under another profile than `.ci/run` judges these worlds, which are long.
    player = VariantPlayer(ReferenceEngine(LANGCHAIN_1), LANGCHAIN_1)
    judged = {each.clause: judge(player, each, CHECKS) for each in worlds("depth")}

    assert all(clause in found.decided for clause, found in judged.items())
    assert set(judged) == {check.clause for check in CHECKS}
    assert not any(found.failed for found in judged.values())


def test_one_world_has_as_many_extensions_as_are_promised_and_one_has_one_more():
    numbers = [number(each.scenario.all_agents[0]) for each in worlds("depth")]

    assert MAX_EXTENSIONS in numbers
    assert max(numbers) == MAX_EXTENSIONS + 1


def test_worlds_of_very_many_extensions_are_for_checks_of_depth_alone():
    assert {each.only for each in worlds("depth")} == {("DEEP",)}


def test_a_world_of_few_extensions_is_not_looked_at():
    world = scenario({"handlers": [{"id": "h", "before_model": []}]}, DONE)

    assert not any(decisions(check, world) for check in CHECKS)


def test_a_world_of_very_many_extensions_is_for_no_other_clause():
    entry = worlds("depth")[2]
    player = VariantPlayer(ReferenceEngine(profile("seed-001")), profile("seed-001"))
    compared = [check for check in OF.values() if check.compares]

    assert {*judge(player, replace(entry, only=()), compared).decided} <= {
        check.clause for check in CHECKS
    }


def test_both_numbers_are_asked_for_in_a_refusal():
    (found,) = decisions(OF["DEEP-002"], worlds("depth")[1].scenario)

    assert found.holds
    assert found.expected == [["10000"], ["10001"]]


def written(tmp_path, repeat, agent):
    """Write a world and read it as a fixed one."""
    world = {"clause": "DEEP-001", "repeat": repeat, "scenario": {"agent": agent}}
    (tmp_path / "some.json").write_text(json.dumps([world]), "utf-8")
    return next(iter(fixed_worlds(tmp_path)))


def test_the_last_entry_of_a_list_stands_so_often_as_repeat_says(tmp_path):
    handlers = [{"id": "first"}, {"before_model": []}]
    entry = written(tmp_path, {"handlers": 3}, {"handlers": handlers})
    ids = [each.id for each in entry.scenario.all_agents[0].handlers]

    assert ids == ["first", "", "", ""]


def test_a_repeated_entry_is_written_once_and_read_back(tmp_path):
    entry = written(tmp_path, {"middlewares": 500}, {"middlewares": [{"id": "m"}]})
    corpus = SuiteCorpus((entry,), 0)

    assert len(corpus.json) < 500
    assert read_corpus(corpus.json).worlds == (entry,)
    assert number(entry.scenario.all_agents[0]) == 500


@pytest.mark.parametrize(
    ("repeat", "told"),
    [
        ({"tools": 3}, "repeat.tools: there are middlewares and handlers"),
        ({"handlers": 0}, "repeat.handlers=0: give a whole number of at least 1"),
        ({"handlers": True}, "repeat.handlers=True: give a whole number"),
        ({"middlewares": 3}, "the scenario's 'agent' has no middlewares to repeat"),
    ],
)
def test_what_cannot_be_repeated_is_told(tmp_path, repeat, told):
    with pytest.raises(ScenarioError, match=told):
        written(tmp_path, repeat, {"handlers": [{"id": "h"}]})
