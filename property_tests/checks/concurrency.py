"""CONC: calls and runs at the same time (contract §2 CONC)."""

from __future__ import annotations

from typing import Final

from property_tests.check import Check

CHECKS: Final[tuple[Check, ...]] = ()
