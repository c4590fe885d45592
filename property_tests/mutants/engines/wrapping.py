"""Engines that are wrong about what wrappers may do to a tool call (WRAP)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = ()
