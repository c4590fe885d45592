"""Mutants of postures: each has another option than its profile says."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectMutant
from property_tests.flow.mutants.steps import other_posture

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
    other_posture("transfer_reach", "whole_tree", "FLOW-112", "flow-safe"),
    other_posture("resumed_final", "asks_model", "FLOW-007", "flow-safe"),
    other_posture("resumed_branch", "none", "FLOW-090", "flow-safe"),
    other_posture("shared_response", "repeated", "FLOW-092", "flow-safe"),
    other_posture("empty_parts", "kept", "FLOW-094", GO),
    other_posture("confirmation_ids", "empty", "FLOW-132 FLOW-133", PY),
    other_posture("equal_tool_names", "error", "FLOW-051", PY),
    other_posture("after_run", "not_on_exception", "FLOW-073", GO),
    other_posture("before_run_value", "user_echo", "FLOW-071", PY),
    other_posture("flags_merge", "any", "FLOW-082", PY),
)
"""All of them."""
