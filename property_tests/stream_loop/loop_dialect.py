"""The stream loop, with all that a judgement asks of a dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from compat.dialects.stream_loop import LoopProfile
from compat.engines.dialect_loading import load_dialect_engine
from compat.engines.stream_loop.capabilities import LOOP_CAPABILITIES, refuse_loop
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.reference import StreamLoop, StreamLoopLinear
from compat.engines.stream_loop.scenario import LoopScenario
from compat.engines.stream_loop.world import words_of
from property_tests.dialects.compared import spelled_by
from property_tests.dialects.dialect import Dialect, DialectMutant, worlds_in

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _broken() -> Sequence[DialectMutant]:
    from property_tests.stream_loop.mutants import LOOP_MUTANTS  # noqa: PLC0415  # they are played by the matrix alone

    return LOOP_MUTANTS


def _strategy() -> SearchStrategy[LoopScenario]:
    from compat.engines.stream_loop.generating import loop_worlds_drawn  # noqa: PLC0415  # an extra

    return loop_worlds_drawn()


def _reference(profile: LoopProfile, capabilities: frozenset[str]) -> StreamLoop:
    """Return what is right: one round alone for a door that has no more."""
    kind = StreamLoop if "loops" in capabilities else StreamLoopLinear
    return kind(profile)


STREAM_LOOP: Final = Dialect(
    name="stream-loop",
    family="LOOP",
    title="the stream-loop dialect",
    folder="stream_loop",
    scenario=LoopScenario,
    fixed=cache(partial(worlds_in, "stream_loop", LoopScenario)),
    engine=partial(
        load_dialect_engine,
        method="process",
        why="a stream loop processes a call, await process(call)",
        known=LOOP_CAPABILITIES,
    ),
    refuse=refuse_loop,
    play=play_loop,
    broken=_broken,
    strategy=_strategy,
    reference=_reference,
    entries=spelled_by(words_of),
)
"""What ``dialects.py`` names."""
