"""How mutants of the Flow dialect are made: its reference, its steps, its profiles."""

from __future__ import annotations

from typing import Final

from compat.dialects.flow.profile import flow_profile
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import FlowDialect
from property_tests.dialects.broken import BrokenReferences
from property_tests.flow.mutants.steps import FLOW_STEPS

BROKEN: Final = BrokenReferences(
    prefix="flow",
    under="flow-safe",
    profile_named=flow_profile,
    reference=FlowDialect,
    play_on=play_flow,
    steps=FLOW_STEPS,
)
broken = BROKEN.broken
other_posture = BROKEN.other_posture
step = BROKEN.step
