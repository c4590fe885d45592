"""Mutants of the stream loop: the reference with a step or a posture wrong."""

from __future__ import annotations

from typing import Final

from property_tests.dialects.dialect import DialectMutant, contract_in
from property_tests.stream_loop.mutants.parts import PARTS
from property_tests.stream_loop.mutants.rounds import ROUNDS
from property_tests.stream_loop.mutants.steps import BROKEN
from property_tests.stream_loop.mutants.streaming import STREAMING

LOOP_MUTANTS: Final[tuple[DialectMutant, ...]] = (
    *ROUNDS,
    *STREAMING,
    *PARTS,
    *BROKEN.other_postures(contract_in("stream_loop")),
)
"""All of them."""
