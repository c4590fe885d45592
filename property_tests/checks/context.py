"""CTX: how far a context reaches (contract §2 CTX)."""

from __future__ import annotations

from typing import Final

from property_tests.check import Check

CHECKS: Final[tuple[Check, ...]] = ()
