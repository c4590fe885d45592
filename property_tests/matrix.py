"""The matrix: which clauses kill which mutant, on one corpus.

A check that kills no mutant checks nothing, and a mutant that no clause kills shows
what the checks do not see (verdicts, Conformance).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from multiprocessing import get_context
from typing import Any

from property_tests.checks import CHECKS
from property_tests.corpus import Corpus, read_corpus
from property_tests.judging import settle
from property_tests.killing import Killing, Kills, names
from property_tests.mutants import MUTANTS, Mutant, mutant
from property_tests.registry import FAMILIES, Contract


@dataclass(frozen=True, slots=True)
class Matrix:
    """All mutants of a matrix with what kills them, and the clauses that have to."""

    clauses: tuple[str, ...]
    """The checked clauses; each has to kill a mutant that names it."""
    named: Mapping[str, tuple[str, ...]]
    """What each mutant says it violates: clauses, or families."""
    kills: tuple[Kills, ...]

    @property
    def killed(self) -> dict[str, tuple[str, ...]]:
        """The clauses that kill each mutant."""
        return {each.mutant: each.by for each in self.kills}

    @property
    def by_named(self) -> tuple[str, ...]:
        """The mutants that a clause kills which they name, or one of such a family."""
        return tuple(each.mutant for each in self.kills if self._is_named(each))

    @property
    def by_others_only(self) -> tuple[str, ...]:
        """The mutants that are killed, but by no clause that they name."""
        others = (each for each in self.kills if each.by and not self._is_named(each))
        return tuple(each.mutant for each in others)

    @property
    def silent(self) -> tuple[str, ...]:
        """The mutants that nothing kills."""
        return tuple(each.mutant for each in self.kills if not each.by)

    @property
    def clauses_without_mutant(self) -> tuple[str, ...]:
        """The clauses that kill no mutant which names them, not only their family."""
        proved = {
            clause
            for each in self.kills
            for clause in each.by
            if clause in self.named[each.mutant]
        }
        return tuple(each for each in self.clauses if each not in proved)

    @property
    def faults(self) -> tuple[str, ...]:
        """What broke down in checks."""
        return tuple(fault for each in self.kills for fault in each.faults)

    @property
    def is_red(self) -> bool:
        """Whether a clause or a mutant is without its counterpart."""
        return bool(self.clauses_without_mutant or self.by_others_only or self.silent)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "mutants": len(self.kills),
            "killed_by_named": len(self.by_named),
            "clauses_without_mutant": list(self.clauses_without_mutant),
            "by_others_only": list(self.by_others_only),
            "silent": list(self.silent),
            "killed": {each.mutant: list(each.by) for each in self.kills},
            "faults": list(self.faults),
        }

    def _is_named(self, kills: Kills) -> bool:
        return any(names(self.named[kills.mutant], clause) for clause in kills.by)


def unknown_names(
    contract: Contract, mutants: Iterable[Mutant] = MUTANTS
) -> tuple[str, ...]:
    """Return what mutants name that is no clause and no family, a sentence each."""
    known = {*contract.ids, *FAMILIES}
    return tuple(
        f"{each.id} violates {name}, which is no clause"
        for each in mutants
        for name in each.violates
        if name not in known
    )


def matrix(
    clauses: Sequence[str],
    mutants: Sequence[Mutant],
    worlds: Corpus,
    *,
    jobs: int = 1,
    full: bool = False,
) -> Matrix:
    """Play all mutants, several at a time in processes of their own.

    The answer is the same for any number of jobs. With more than one the mutants have
    to be of the registry, since their ids are what is handed over.
    """
    named = {each.id: each.violates for each in mutants}
    if jobs == 1:
        killing = Killing(worlds.worlds, CHECKS, full=full)
        found = [killing.kills(each) for each in mutants]
        return Matrix(tuple(clauses), named, tuple(found))
    # Nothing is inherited, so a worker knows what it would know alone.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        found = list(pool.map(_kills, named, repeat(worlds.json), repeat(full)))
    return Matrix(tuple(clauses), named, tuple(found))


def _kills(id_: str, text: str, full: bool) -> Kills:  # what a process is given
    return _killing(text, full).kills(mutant(id_))


@cache
def _killing(text: str, full: bool) -> Killing:  # as _kills
    worlds = read_corpus(text).worlds
    settle()
    return Killing(worlds, CHECKS, full=full)
