"""All mutants. A new one goes into the table of its kind, and a new table in here."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.adapters import OWN_ADAPTERS
from property_tests.mutants.examples import EXAMPLES
from property_tests.mutants.mutant import Mutant, UnknownMutantError
from property_tests.mutants.seeds import SKETCHES

MUTANTS: Final[tuple[Mutant, ...]] = (*SKETCHES, *EXAMPLES, *OWN_ADAPTERS)
"""Every mutant there is, in the order of the page about them."""


def mutant(id_: str) -> Mutant:
    """Return the mutant of that id; raises UnknownMutantError."""
    for each in MUTANTS:
        if each.id == id_:
            return each
    raise UnknownMutantError(id_, tuple(each.id for each in MUTANTS))
