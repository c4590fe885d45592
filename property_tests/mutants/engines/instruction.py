"""Engines that are wrong about how an instruction is put together (INS)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = ()
