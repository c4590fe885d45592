"""RD: which tools end a run (contract §2 RD)."""

from __future__ import annotations

from typing import Final

from property_tests.check import Check

CHECKS: Final[tuple[Check, ...]] = ()
