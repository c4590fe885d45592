"""Mutants of postures: what the decision record's sketch does, under our profile."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectMutant
from property_tests.stream_loop.mutants.steps import other_posture

SAFE: Final = "loop-safe"

POSTURES: Final[tuple[DialectMutant, ...]] = (
    other_posture("iteration_limit", "falsy_is_three", "LOOP-013", SAFE),
    other_posture("exhausted_text", "limit_text", "LOOP-015", SAFE),
    other_posture("follow_up", "first_only", "LOOP-005", SAFE),
    other_posture("follow_up", "last_only", "LOOP-005 LOOP-007", SAFE),
    other_posture("next_input", "prompt_only", "LOOP-009 LOOP-010", SAFE),
    other_posture("empty_prompt", "loops", "LOOP-016", SAFE),
    other_posture("tool_failure", "aborts", "LOOP-030 LOOP-031", SAFE),
    other_posture("open_parts", "left", "LOOP-056", SAFE),
    other_posture("raising_callback", "aborts", "LOOP-041", SAFE),
)
"""All of them."""
