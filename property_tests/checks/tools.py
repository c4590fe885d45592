"""TOOL: which tools there are (contract §2 TOOL)."""

from __future__ import annotations

from typing import Final

from property_tests.check import Check

CHECKS: Final[tuple[Check, ...]] = ()
