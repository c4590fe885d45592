"""INS: how an instruction is put together (contract §2 INS)."""

from __future__ import annotations

from typing import Final

from property_tests.check import Check

CHECKS: Final[tuple[Check, ...]] = ()
