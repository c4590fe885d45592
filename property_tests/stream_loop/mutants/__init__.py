"""Mutants of the stream loop: the reference with a step or a posture wrong."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectMutant
from property_tests.stream_loop.mutants.parts import PARTS
from property_tests.stream_loop.mutants.postures import POSTURES
from property_tests.stream_loop.mutants.rounds import ROUNDS
from property_tests.stream_loop.mutants.streaming import STREAMING

LOOP_MUTANTS: Final[tuple[DialectMutant, ...]] = (
    *ROUNDS,
    *STREAMING,
    *PARTS,
    *POSTURES,
)
"""All of them."""
