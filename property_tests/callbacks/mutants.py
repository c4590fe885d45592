"""Mutants of sessions with callbacks: the reference edited, or under other postures."""

from __future__ import annotations

from typing import Final

from compat.dialects.callbacks.profile import callbacks_profile
from compat.engines.callbacks.playing import play_callbacks
from compat.engines.callbacks.reference import CallbacksV2
from property_tests.dialects.broken import BrokenReferences
from property_tests.dialects.dialect import DialectMutant, contract_in

BROKEN: Final = BrokenReferences(
    package="compat.dialects.callbacks",
    prefix="callbacks",
    under="callbacks-v2",
    profile_named=callbacks_profile,
    reference=CallbacksV2,
    play_on=play_callbacks,
)

CALLBACKS_MUTANTS: Final[tuple[DialectMutant, ...]] = (
    *BROKEN.edited("callbacks"),
    *BROKEN.other_postures(contract_in("callbacks")),
)
"""All of them."""
