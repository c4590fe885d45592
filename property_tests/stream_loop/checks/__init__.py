"""The checks of the stream loop, one for each clause that is checked."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectCheck
from property_tests.stream_loop.checks.breaking import CHECKS as BREAKING
from property_tests.stream_loop.checks.parts import CHECKS as PARTS
from property_tests.stream_loop.checks.rounds import CHECKS as ROUNDS
from property_tests.stream_loop.checks.streaming import CHECKS as STREAMING

LOOP_CHECKS: Final[tuple[DialectCheck, ...]] = (
    *ROUNDS,
    *STREAMING,
    *BREAKING,
    *PARTS,
)
"""All of them, in the order of their clauses."""
