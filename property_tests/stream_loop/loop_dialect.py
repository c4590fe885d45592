"""The stream loop, with all that a judgement asks of a dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from compat.engines.dialect_loading import load_dialect_engine
from compat.engines.stream_loop.capabilities import LOOP_CAPABILITIES, refuse_loop
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.scenario import LoopScenario
from property_tests.dialects.dialect import Dialect, DialectMutant
from property_tests.stream_loop.cases import loop_worlds
from property_tests.stream_loop.checks import LOOP_CHECKS
from property_tests.stream_loop.view import loop_view_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _broken() -> Sequence[DialectMutant]:
    from property_tests.stream_loop.mutants import LOOP_MUTANTS  # noqa: PLC0415  # they are played by the matrix alone

    return LOOP_MUTANTS


def _strategy() -> SearchStrategy[LoopScenario]:
    from compat.engines.stream_loop.generating import loop_worlds_drawn  # noqa: PLC0415  # an extra

    return loop_worlds_drawn()


STREAM_LOOP: Final = Dialect(
    name="stream-loop",
    family="LOOP",
    title="the stream-loop dialect",
    folder="stream_loop",
    scenario=LoopScenario,
    in_code=LOOP_CHECKS,
    fixed=loop_worlds,
    engine=partial(
        load_dialect_engine,
        method="process",
        why="a stream loop processes a call, await process(call)",
        known=LOOP_CAPABILITIES,
    ),
    refuse=refuse_loop,
    play=play_loop,
    view=loop_view_of,
    broken=_broken,
    strategy=_strategy,
)
"""What ``dialects.py`` names."""
