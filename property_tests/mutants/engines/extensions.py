"""Engines that are wrong about what an extension is (EXT)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = ()
