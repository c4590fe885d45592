"""Engines in which adapted structs are not what native ones are (COMPAT)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.around import under
from property_tests.mutants.engines import lists
from property_tests.mutants.engines.lists import Found
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import broken, wrong


def _adapted_last(found: Found) -> Found:
    return [*lists.wrappers(found), *lists.factories(found)]


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "adapted-layers-innermost",
        "Tool wrappers of adapted structs stand inside those of the handlers.",
        "COMPAT-002",
        lists.handlers_layers(_adapted_last),
    ),
    wrong(
        "factories-once",
        "Factories are called once, where they are called for every run.",
        "COMPAT-005",
        under("wrapper_factory", "once_a_tool"),
        under="eino-0.9",
    ),
)
