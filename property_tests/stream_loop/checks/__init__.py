"""The checks of the stream loop, one for each clause that is checked."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectCheck
from property_tests.stream_loop.checks.rounds import CHECKS as ROUNDS

LOOP_CHECKS: Final[tuple[DialectCheck, ...]] = (*ROUNDS,)
"""All of them, in the order of their clauses."""
