"""WRAP: what wrappers may do to a tool call (contract §2 WRAP)."""

from __future__ import annotations

from typing import Final

from property_tests.check import Check

CHECKS: Final[tuple[Check, ...]] = ()
