"""The matrix: which clauses kill which mutant, on one corpus.

A check that kills no mutant checks nothing, and a mutant that no clause kills shows
what the checks do not see (verdicts, Conformance). Every mutant is played in the same
worlds; a check that has killed it is not asked again, which changes no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from multiprocessing import get_context
from typing import Any, Final

from property_tests.check import Case, Check
from property_tests.checks import CHECKS
from property_tests.corpus import Corpus, Entry, read_corpus
from property_tests.judging import decide, looks_at
from property_tests.mutants import MUTANTS, Mutant, mutant
from property_tests.playing import Player, RefusedError
from property_tests.registry import FAMILIES, Contract
from refengine.profile import profile

ERROR: Final = "error"
"""What kills a mutant out of which an exception came where none may."""


@dataclass(frozen=True, slots=True)
class Kills:
    """What kills a mutant: clauses in the order of their checks, then ``error``.

    ``faults`` say which check broke down over what it did; that is never its answer.
    """

    mutant: str
    by: tuple[str, ...]
    faults: tuple[str, ...] = ()


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


def names(violates: Iterable[str], clause: str) -> bool:
    """Tell whether a clause is among those violated, itself or by its family."""
    return not {clause, clause.partition("-")[0]}.isdisjoint(violates)


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
    clauses: Sequence[str], mutants: Sequence[Mutant], worlds: Corpus, jobs: int = 1
) -> Matrix:
    """Play all mutants in all worlds, several at a time in processes of their own.

    The answer is the same for any number of jobs. With more than one the mutants have
    to be of the registry, since their ids are what is handed over.
    """
    named = {each.id: each.violates for each in mutants}
    if jobs == 1:
        found = [kills(each, worlds.worlds, CHECKS) for each in mutants]
        return Matrix(tuple(clauses), named, tuple(found))
    # Nothing is inherited, so a worker knows what it would know alone.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        found = list(pool.map(_kills, named, repeat(worlds.json)))
    return Matrix(tuple(clauses), named, tuple(found))


def kills(broken: Mutant, worlds: Iterable[Entry], checks: Sequence[Check]) -> Kills:
    """Return what kills a mutant in these worlds.

    A world that is kept for some families, because it is huge, is played only for the
    mutants that say they violate them.
    """
    under = profile(broken.under)
    player = Player(broken.wrong(under), under)
    found: set[str] = set()
    faults: list[str] = []
    for entry in worlds:
        left = [each for each in checks if each.clause not in found]
        chosen = [each for each in left if looks_at(each, entry)]
        if not chosen or not _concerns(entry, broken):
            continue
        try:
            case = _case(player, entry, chosen)
        except RefusedError:
            continue
        if case is None:
            found.add(ERROR)
        else:
            judged = decide(case, chosen)
            found.update(judged.failed)
            faults += (f"{key}: {why}" for key, why in judged.errors.items())
    order = [*dict.fromkeys(each.clause for each in checks), ERROR]
    by = tuple(each for each in order if each in found)
    return Kills(broken.id, by, tuple(dict.fromkeys(faults)))


def _concerns(entry: Entry, broken: Mutant) -> bool:
    families = {each.partition("-")[0] for each in broken.violates}
    return not entry.only or not families.isdisjoint(entry.only)


def _case(player: Player, entry: Entry, checks: Sequence[Check]) -> Case | None:
    """Play a world; None if an exception came out of the engine."""
    variants = dict.fromkeys(name for each in checks for name in each.variants)
    try:
        return player.case(entry.scenario, tuple(variants))
    except RefusedError:
        raise
    except (Exception, asyncio.CancelledError):  # noqa: BLE001  # as it is broken
        return None


def _kills(id_: str, text: str) -> Kills:
    return kills(mutant(id_), _worlds(text), CHECKS)


@cache
def _worlds(text: str) -> tuple[Entry, ...]:
    return read_corpus(text).worlds
