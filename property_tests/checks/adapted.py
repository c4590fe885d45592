"""COMPAT: adapted structs against native ones (contract §2 COMPAT)."""

from __future__ import annotations

from typing import Final

from property_tests.check import Check

CHECKS: Final[tuple[Check, ...]] = ()
