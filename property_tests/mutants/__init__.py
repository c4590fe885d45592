"""The one registry of mutants: small broken engines and adapters (verdicts.md).

A mutant violates clauses of the contract on purpose. A check that tells none from the
right engine checks nothing, so ``refengine mutant matrix`` holds every check against
every mutant.
"""

from property_tests.mutants.mutant import (
    Door,
    DuplicateMutantError,
    Mutant,
    UnknownMutantError,
)
from property_tests.mutants.registry import MUTANTS, WITNESSED, distinct, mutant

__all__ = [
    "MUTANTS",
    "WITNESSED",
    "Door",
    "DuplicateMutantError",
    "Mutant",
    "UnknownMutantError",
    "distinct",
    "mutant",
]
