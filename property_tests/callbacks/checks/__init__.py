"""The checks of sessions with callbacks, one for each clause that is checked."""

from __future__ import annotations

from typing import Final

from property_tests.callbacks.checks.failing import CHECKS as FAILING
from property_tests.callbacks.checks.keeping import CHECKS as KEEPING
from property_tests.callbacks.checks.telling import CHECKS as TELLING
from property_tests.callbacks.checks.wiring import CHECKS as WIRING
from property_tests.dialects.dialect import DialectCheck

CALLBACKS_CHECKS: Final[tuple[DialectCheck, ...]] = (
    *TELLING,
    *KEEPING,
    *WIRING,
    *FAILING,
)
"""All of them, in the order of their clauses."""
