"""Mutants of a matrix as units of a cluster: their ids, and which worlds are meant.

A corpus is large and every worker can make it, so its recipe is sent, with its digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Final

from compat.spreading import (
    RefusedUnitError,
    Spread,
    UnitData,
    in_order,
    other_threads_draw,
)
from property_tests.checks import CHECKS
from property_tests.corpus import SuiteCorpus
from property_tests.judging.inputs import make_corpus
from property_tests.judging.world import settle
from property_tests.matrix import Killing, Kills, Played, Search
from property_tests.mutants import Mutant, mutant

KIND: Final = "mutants"
AT_ONCE: Final = 12
"""So many mutants take seconds, once a worker has its corpus."""


def spread_player(
    spread: Spread, corpus: SuiteCorpus, examples: int, search: Search
) -> Played:
    """Return what has mutants played on a cluster, in their order.

    ``corpus`` is what ``make_corpus`` made of so many examples.
    """
    about = {
        "examples": examples,
        "seed": corpus.seed,
        "digest": corpus.digest,
        "search": search,
    }

    def played(mutants: Sequence[Mutant], wanted: Sequence[str]) -> list[Kills]:
        ids = [each.id for each in mutants]
        units = [
            {**about, "wanted": list(wanted), "mutants": ids[at : at + AT_ONCE]}
            for at in range(0, len(ids), AT_ONCE)
        ]
        answers = in_order(spread, KIND, units)
        return [_kills(each) for answer in answers for each in answer["kills"]]

    return played


def killed(unit: UnitData) -> UnitData:
    """Return what kills the mutants of a unit; this is what a worker plays.

    Raises RefusedUnitError if this worker makes other worlds.
    """
    killing = _killing(unit["examples"], unit["seed"], unit["digest"], unit["search"])
    found = [killing.kills(mutant(each), unit["wanted"]) for each in unit["mutants"]]
    return {"kills": [asdict(each) for each in found]}


@cache
def _killing(examples: int, seed: int, digest: str, search: Search) -> Killing:
    with other_threads_draw():
        corpus = make_corpus(examples, seed).corpus
    if corpus.digest != digest:
        raise RefusedUnitError(
            "a worker draws other worlds from this seed: install the same release of"
            " Hypothesis on all machines"
        )
    settle()
    return Killing(corpus.worlds, CHECKS, search=search)


def _kills(data: UnitData) -> Kills:
    return Kills(data["mutant"], tuple(data["by"]), tuple(data["faults"]))
