"""Mutants of the engine that stay code, each module by why no edit says them."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.engines import agents, between, calls, consumed, kinds
from property_tests.mutants.mutant import Mutant

ENGINES: Final[tuple[Mutant, ...]] = (
    *agents.MUTANTS,
    *calls.MUTANTS,
    *between.MUTANTS,
    *consumed.MUTANTS,
    *kinds.MUTANTS,
)
