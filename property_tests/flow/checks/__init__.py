"""The checks of the Flow dialect, one for each clause that is checked."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectCheck
from property_tests.flow.checks.agents import CHECKS as AGENTS
from property_tests.flow.checks.histories import CHECKS as HISTORIES
from property_tests.flow.checks.model_hooks import CHECKS as MODEL_HOOKS
from property_tests.flow.checks.processors import CHECKS as PROCESSORS
from property_tests.flow.checks.several_calls import CHECKS as SEVERAL_CALLS
from property_tests.flow.checks.tool_hooks import CHECKS as TOOL_HOOKS
from property_tests.flow.checks.variants import CHECKS as VARIANTS
from property_tests.flow.checks.whole_runs import CHECKS as WHOLE_RUNS

FLOW_CHECKS: Final[tuple[DialectCheck, ...]] = tuple(
    sorted(
        (
            *WHOLE_RUNS,
            *MODEL_HOOKS,
            *TOOL_HOOKS,
            *AGENTS,
            *SEVERAL_CALLS,
            *HISTORIES,
            *PROCESSORS,
            *VARIANTS,
        ),
        key=lambda each: each.clause,
    )
)
"""All of them, in the order of their clauses."""
