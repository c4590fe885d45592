"""What a clause of a dialect means: a small world in which a mutant violates it."""

from __future__ import annotations

from dataclasses import dataclass

from compat.verdicts.conformance import ClauseFailure
from property_tests.dialects.deciding import WorldDecider
from property_tests.dialects.dialect import Dialect, DialectMutant


class UnexplainedClauseError(LookupError):
    """No mutant that names the clause violates it in a fixed world."""

    def __init__(self, clause: str) -> None:
        self.clause = clause
        super().__init__(f"no mutant violates {clause} in a fixed world: add one")


@dataclass(frozen=True, slots=True)
class ExplainedDialect:
    """A mutant, what it does in a small world, and all mutants that name a clause."""

    mutant: DialectMutant
    failure: ClauseFailure
    mutants: tuple[DialectMutant, ...]


def explained_dialect(dialect: Dialect, clause: str) -> ExplainedDialect:
    """Return how a mutant violates a clause; raises UnexplainedClauseError."""
    mutants = tuple(each for each in dialect.mutants if clause in each.violates)
    checks = [each for each in dialect.checks if each.clause == clause]
    for mutant in mutants:
        decider = WorldDecider(dialect, mutant.door(), checks)
        for world in dialect.fixed():
            if world.clause == clause:
                failure = decider.smallest(clause, world.scenario)
                if failure is not None:
                    return ExplainedDialect(mutant, failure, mutants)
    raise UnexplainedClauseError(clause)
