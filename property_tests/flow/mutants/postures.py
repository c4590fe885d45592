"""Mutants of postures: each has another option than its profile says."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectMutant
from property_tests.flow.mutants.doors import other_posture

GO: Final = "adk-go-0.4"
PY: Final = "adk-py-2"

POSTURES: Final[tuple[DialectMutant, ...]] = (
    other_posture("last_partial", "stops", "FLOW-008", GO),
    other_posture("thought_only_turn", "ends", "FLOW-007", "flow-safe"),
    other_posture("partial_calls", "run", "FLOW-012", "flow-safe"),
    other_posture("plugin_errors", "as_raised", "FLOW-029", PY),
    other_posture("tool_failures", "abort", "FLOW-043 FLOW-045 FLOW-046", GO),
    other_posture("tool_failures", "data", "FLOW-043 FLOW-045 FLOW-046", PY),
    other_posture("tool_hook_values", "truthy", "FLOW-013 FLOW-047", GO),
    other_posture("unknown_tool", "aborts", "FLOW-048", GO),
    other_posture("equal_tool_names", "last_wins", "FLOW-051", GO),
    other_posture("before_agent_error", "goes_on", "FLOW-063", PY),
    other_posture("before_run_value", "content", "FLOW-071", GO),
    other_posture("on_event_kept", "original", "FLOW-072", GO),
    other_posture("after_run", "on_completion", "FLOW-073", GO),
    other_posture("flags_merge", "last", "FLOW-082", GO),
    other_posture("transfer_to_self", "allowed", "FLOW-112", "flow-safe"),
)
"""All of them."""
