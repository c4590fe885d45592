"""The one registry of mutants: small broken engines and adapters (verdicts.md).

A mutant violates clauses of the contract on purpose. A check that tells none from the
right engine checks nothing, so ``refengine mutant matrix`` holds every check against
every mutant. Those of the adapters also have a witness: the smallest world that was
found in which mutant and right engine differ.

    python -m property_tests.mutants

finds all witnesses anew and writes them, and the page about the seeds.
"""

from property_tests.mutants.mutant import (
    Door,
    DuplicateMutantError,
    Mutant,
    UnknownMutantError,
)
from property_tests.mutants.registry import MUTANTS, WITNESSED, distinct, mutant
from property_tests.mutants.witness import Witness, stored

__all__ = [
    "MUTANTS",
    "WITNESSED",
    "Door",
    "DuplicateMutantError",
    "Mutant",
    "UnknownMutantError",
    "Witness",
    "distinct",
    "mutant",
    "stored",
]
