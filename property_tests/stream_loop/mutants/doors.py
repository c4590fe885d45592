"""How mutants of the stream loop are made: its reference, its steps, its profiles."""

from __future__ import annotations

from typing import Final

from compat.dialects.stream_loop.profile import loop_profile
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.reference import StreamLoop
from property_tests.dialects.broken import BrokenReferences
from property_tests.stream_loop.mutants.steps import LOOP_STEPS

BROKEN: Final = BrokenReferences(
    prefix="loop",
    under="loop-safe",
    profile_named=loop_profile,
    reference=StreamLoop,
    play_on=play_loop,
    steps=LOOP_STEPS,
)
broken = BROKEN.broken
other_posture = BROKEN.other_posture
step = BROKEN.step
