"""Engines that are wrong about how far a context reaches (CTX)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = ()
