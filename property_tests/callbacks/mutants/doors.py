"""How mutants of sessions with callbacks are made: of which steps and profiles."""

from __future__ import annotations

from typing import Final

from compat.dialects.callbacks.profile import callbacks_profile
from compat.engines.callbacks.playing import play_callbacks
from compat.engines.callbacks.reference import CallbacksV2
from property_tests.callbacks.mutants.steps import CALLBACKS_STEPS
from property_tests.dialects.broken import BrokenReferences

BROKEN: Final = BrokenReferences(
    prefix="callbacks",
    under="callbacks-v2",
    profile_named=callbacks_profile,
    reference=CallbacksV2,
    play_on=play_callbacks,
    steps=CALLBACKS_STEPS,
)
broken = BROKEN.broken
other_posture = BROKEN.other_posture
step = BROKEN.step
