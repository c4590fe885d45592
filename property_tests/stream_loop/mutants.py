"""Mutants of the stream loop: the reference edited, or under other postures."""

from __future__ import annotations

from typing import Final

from compat.dialects.stream_loop.profile import loop_profile
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.reference import StreamLoop
from property_tests.dialects.broken import BrokenReferences
from property_tests.dialects.dialect import DialectMutant, contract_in

BROKEN: Final = BrokenReferences(
    package="compat.dialects.stream_loop",
    prefix="loop",
    under="loop-safe",
    profile_named=loop_profile,
    reference=StreamLoop,
    play_on=play_loop,
)

LOOP_MUTANTS: Final[tuple[DialectMutant, ...]] = (
    *BROKEN.edited("stream_loop"),
    *BROKEN.other_postures(contract_in("stream_loop")),
)
"""All of them."""
