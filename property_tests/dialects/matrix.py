"""Which clauses of a dialect kill which of its mutants, found by playing them.

Worlds that were written for a clause that a mutant names come first; a mutant that each
of these has killed is left alone from then on, unless all is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from property_tests.dialects.deciding import WorldDecider
from property_tests.dialects.dialect import Dialect, DialectMutant, JudgedWorld
from property_tests.matrix import ERROR, Kills, Matrix


def dialect_matrix(
    dialect: Dialect,
    clauses: Sequence[str],
    mutants: Sequence[DialectMutant],
    *,
    full: bool = False,
) -> Matrix:
    """Play the mutants of a dialect in its fixed worlds, and return what kills each."""
    kills = [killed(dialect, each, dialect.fixed(), full=full) for each in mutants]
    named = {each.id: each.violates for each in mutants}
    return Matrix(tuple(clauses), named, tuple(kills))


def joined(one: Matrix, other: Matrix) -> Matrix:
    """Return two matrices as one; their mutants have different ids."""
    clauses = (*one.clauses, *other.clauses)
    return Matrix(clauses, {**one.named, **other.named}, (*one.kills, *other.kills))


def killed(
    dialect: Dialect,
    mutant: DialectMutant,
    worlds: Iterable[JudgedWorld],
    *,
    full: bool = False,
) -> Kills:
    """Return what kills a mutant: clauses in their order, then ``error``."""
    decider = WorldDecider(dialect, mutant.door(), dialect.checks)
    found: set[str] = set()
    for each in _nearest_first(mutant, worlds):
        try:
            judged = decider.judge(each.scenario)
        except Exception:  # noqa: BLE001  # as it is broken
            found.add(ERROR)
            continue
        found.update(judged.failed)
        if not full and found.issuperset(mutant.violates):
            break
    order = [*(each.clause for each in dialect.checks), ERROR]
    by = tuple(each for each in order if each in found)
    return Kills(mutant.id, by)


def _nearest_first(
    mutant: DialectMutant, worlds: Iterable[JudgedWorld]
) -> Iterator[JudgedWorld]:
    """Yield the worlds, those of clauses that a mutant names before the others."""
    given = tuple(worlds)
    yield from (each for each in given if each.clause in mutant.violates)
    yield from (each for each in given if each.clause not in mutant.violates)
