"""Engines that are wrong about what a history is made of (MSG)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = ()
