"""Mutants of sessions with callbacks: the reference with a step or a posture wrong."""

from __future__ import annotations

from typing import Final

from property_tests.callbacks.mutants.faults import FAULTS
from property_tests.callbacks.mutants.postures import POSTURES
from property_tests.dialects.dialect import DialectMutant

CALLBACKS_MUTANTS: Final[tuple[DialectMutant, ...]] = (*FAULTS, *POSTURES)
"""All of them."""
