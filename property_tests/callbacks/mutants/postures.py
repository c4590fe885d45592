"""Mutants of postures: what the seed's sketch does, under our profile."""

from __future__ import annotations

from typing import Final

from property_tests.callbacks.mutants.steps import other_posture
from property_tests.dialects.dialect import DialectMutant

V2: Final = "callbacks-v2"

POSTURES: Final[tuple[DialectMutant, ...]] = (
    other_posture("clients", "one", "CB-010 CB-020 CB-040", V2),
    other_posture("listener_hears", "everything", "CB-012", V2),
    other_posture("shared", "tool_end_only", "CB-010 CB-011", V2),
    other_posture("session_callbacks", "overwritten", "CB-002 CB-003 CB-013", V2),
    other_posture("client_callbacks", "at_setup", "CB-043", V2),
    other_posture("loaded_state", "truthy", "CB-020 CB-021", V2),
    other_posture("saving", "told_then_stored", "CB-030 CB-032", V2),
    other_posture("failures", "aborts", "CB-051", V2),
    other_posture("second_manager", "replaces", "CB-046", V2),
)
"""All of them."""
