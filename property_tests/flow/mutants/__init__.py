"""Mutants of the Flow dialect: the reference with a step or a posture wrong."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectMutant
from property_tests.flow.mutants.hooks import HOOKS
from property_tests.flow.mutants.postures import POSTURES
from property_tests.flow.mutants.processors import PROCESSORS
from property_tests.flow.mutants.runs import RUNS

FLOW_MUTANTS: Final[tuple[DialectMutant, ...]] = (
    *HOOKS,
    *RUNS,
    *PROCESSORS,
    *POSTURES,
)
"""All of them."""
