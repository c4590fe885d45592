"""All mutants. A new one goes into the table of its kind, and a new table in here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from property_tests.mutants.adapters import OWN_ADAPTERS
from property_tests.mutants.edited import EDITED
from property_tests.mutants.engines import ENGINES
from property_tests.mutants.examples import EXAMPLES
from property_tests.mutants.made import made_mutant, numbered, numbered_mutant
from property_tests.mutants.mutant import (
    DuplicateMutantError,
    Mutant,
    UnknownMutantError,
)
from property_tests.mutants.seeds import SKETCHES
from property_tests.registry import FAMILIES, contract

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


def _made() -> Iterator[Mutant]:
    """Yield the mutants that clauses name: small changes that they notice."""
    for clause in contract().clauses:
        for at, each in enumerate(clause.made, 1):
            id_ = f"made-{clause.id.lower()}-{at}"
            yield made_mutant(id_, each.function, each.change, (clause.id,))


MUTANTS: Final = distinct((*WITNESSED, *EDITED, *ENGINES, *_made()))
"""Every mutant there is."""


def mutant(id_: str) -> Mutant:
    """Return the mutant of that id; raises UnknownMutantError.

    One that is made for the occasion has its module and number: ``loop:17``. Any clause
    may kill it.
    """
    for each in MUTANTS:
        if each.id == id_:
            return each
    change = numbered(id_)
    if change is not None:
        return numbered_mutant(change, FAMILIES)
    raise UnknownMutantError(id_, tuple(each.id for each in MUTANTS))
