"""All mutants. A new one goes into the table of its kind, and a new table in here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from property_tests.mutants.adapters import OWN_ADAPTERS
from property_tests.mutants.engines import ENGINES
from property_tests.mutants.examples import EXAMPLES
from property_tests.mutants.mutant import (
    DuplicateMutantError,
    Mutant,
    UnknownMutantError,
)
from property_tests.mutants.seeds import SKETCHES

WITNESSED: Final[tuple[Mutant, ...]] = (*SKETCHES, *EXAMPLES, *OWN_ADAPTERS)
"""Those with a stored witness, in the order of the page about them."""


def distinct(mutants: Iterable[Mutant]) -> tuple[Mutant, ...]:
    """Return the mutants; raises DuplicateMutantError if two have one id."""
    found: dict[str, Mutant] = {}
    for each in mutants:
        if each.id in found:
            raise DuplicateMutantError(found[each.id], each)
        found[each.id] = each
    return tuple(found.values())


MUTANTS: Final = distinct((*WITNESSED, *ENGINES))
"""Every mutant there is."""


def mutant(id_: str) -> Mutant:
    """Return the mutant of that id; raises UnknownMutantError."""
    for each in MUTANTS:
        if each.id == id_:
            return each
    raise UnknownMutantError(id_, tuple(each.id for each in MUTANTS))
