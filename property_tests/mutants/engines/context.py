"""Engines that are wrong about how far a context reaches (CTX)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    patch,
    wrong,
)


def _shared_locals() -> Sequence[Patch]:
    """Start a run of an agent with the run-local values of the one before it."""
    before: dict[int, tuple[Given, Given]] = {}

    def replaced(right: Right) -> Right:
        def start(self: Given) -> Given:
            machine = self.machine
            _, values = before.get(id(machine), (machine, {}))
            self.locals.update(values)
            before[id(machine)] = machine, self.locals
            return right(self)

        return start

    return (patch("loop.start", replaced),)


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "run-locals-shared",
        "A run finds the run-local values of the runs before it.",
        "CTX-014",
        PatchedDoor("run-locals-shared", _shared_locals),
    ),
)
"""Engines in which a context reaches less far, or farther."""
