"""Engines that tell the model less of a tool, or keep less of a value (TOOL, SER)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Right,
    broken,
    patch,
)


def _numbers(right: Right) -> Right:
    """Bring true and false back as numbers."""

    def unpack(self: Given, *given: Given, **how: Given) -> object:
        found = right(self, *given, **how)
        return int(found) if isinstance(found, bool) else found

    return unpack


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "truth-lost-in-storage",
        "True and false come back from storage as numbers.",
        "INT-009",
        patch("resume.unpack", _numbers),
    ),
)
