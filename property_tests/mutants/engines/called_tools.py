"""Engines that are wrong about which tool a call runs, and which ends a run."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.around import under
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    wrong,
)

MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "direct-event-in-order",
        "The event of the call that ends the run is not held back.",
        "RD-013",
        under("direct_event", "call_order"),
        under="eino-0.9",
    ),
)
