"""Engines that are wrong about adapted structs against native ones (COMPAT)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = ()
