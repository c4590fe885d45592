"""Mutants of sessions with callbacks: the reference with a step or a posture wrong."""

from __future__ import annotations

from typing import Final

from property_tests.callbacks.mutants.faults import FAULTS
from property_tests.callbacks.mutants.steps import BROKEN
from property_tests.dialects.dialect import DialectMutant, contract_in

CALLBACKS_MUTANTS: Final[tuple[DialectMutant, ...]] = (
    *FAULTS,
    *BROKEN.other_postures(contract_in("callbacks")),
)
"""All of them."""
