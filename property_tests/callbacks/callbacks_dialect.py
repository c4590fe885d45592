"""Sessions with callbacks, with all that a judgement asks of a dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from compat.engines.callbacks.capabilities import (
    CALLBACKS_CAPABILITIES,
    refuse_callbacks,
)
from compat.engines.callbacks.playing import play_callbacks
from compat.engines.callbacks.reference import CallbacksV2
from compat.engines.callbacks.scenario import CallbacksScenario
from compat.engines.callbacks.world import words_of
from compat.engines.dialect_loading import load_dialect_engine
from property_tests.dialects.compared import spelled_by
from property_tests.dialects.dialect import Dialect, DialectMutant, worlds_in

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _broken() -> Sequence[DialectMutant]:
    from property_tests.callbacks.mutants import CALLBACKS_MUTANTS  # noqa: PLC0415  # they are played by the matrix alone

    return CALLBACKS_MUTANTS


def _strategy() -> SearchStrategy[CallbacksScenario]:
    from compat.engines.callbacks.generating import callbacks_worlds_drawn  # noqa: PLC0415  # an extra

    return callbacks_worlds_drawn()


CALLBACKS: Final = Dialect(
    name="callbacks",
    family="CB",
    title="the callbacks dialect",
    folder="callbacks",
    scenario=CallbacksScenario,
    fixed=cache(partial(worlds_in, "callbacks", CallbacksScenario)),
    engine=partial(
        load_dialect_engine,
        method="open",
        why="an engine of sessions opens worlds, open(world)",
        known=CALLBACKS_CAPABILITIES,
    ),
    refuse=refuse_callbacks,
    play=play_callbacks,
    broken=_broken,
    strategy=_strategy,
    reference=lambda profile, _: CallbacksV2(profile),
    entries=spelled_by(words_of),
)
"""What ``dialects.py`` names."""
