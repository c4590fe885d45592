"""The one registry of mutants: small broken engines and adapters (verdicts.md).

A mutant violates families of the contract on purpose. A check that does not tell it
from the right engine checks nothing, so every mutant has a witness: the smallest world
that was found in which the two differ.

    python -m property_tests.mutants

finds all witnesses anew and writes them, and the page about the seeds.
"""

from property_tests.mutants.mutant import Door, Mutant, UnknownMutantError
from property_tests.mutants.registry import MUTANTS, mutant
from property_tests.mutants.witness import Witness, stored

__all__ = [
    "MUTANTS",
    "Door",
    "Mutant",
    "UnknownMutantError",
    "Witness",
    "mutant",
    "stored",
]
