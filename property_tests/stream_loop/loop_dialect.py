"""The stream loop, with all that ``property_tests/dialects`` asks of a dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat.engines.stream_loop.capabilities import refuse_loop
from compat.engines.stream_loop.loading import load_stream_loop
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.scenario import LoopScenario
from property_tests.dialects.dialect import (
    DialectCheck,
    DialectMutant,
    JudgedWorld,
    PlayedDialect,
)
from property_tests.dialects.family import DialectFamily, EngineDoor
from property_tests.registry import Contract, read_contract
from property_tests.stream_loop.cases import loop_worlds
from property_tests.stream_loop.checks import LOOP_CHECKS
from property_tests.stream_loop.view import LoopView, loop_view_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

FILE: Final = Path(__file__).with_name("contract.toml")


class StreamLoopDoor(EngineDoor):
    """A door to a stream loop, as a dialect's door: a ``DialectDoor``."""

    refuse = staticmethod(refuse_loop)
    play_on = staticmethod(play_loop)


class LoopFamily(DialectFamily):
    """All that is the stream loop's own in a judgement: a ``Dialect``."""

    name = "stream-loop"
    family = "LOOP"
    title = "the stream-loop dialect"
    scenario = LoopScenario

    @property
    def contract(self) -> Contract:
        """The clauses of family LOOP."""
        return loop_contract()

    @property
    def checks(self) -> Sequence[DialectCheck]:
        """What decides them."""
        return LOOP_CHECKS

    @property
    def mutants(self) -> Sequence[DialectMutant]:
        """Broken loops."""
        from property_tests.stream_loop.mutants import LOOP_MUTANTS  # noqa: PLC0415  # they are played by the matrix alone

        return LOOP_MUTANTS

    def fixed(self) -> Sequence[JudgedWorld]:
        """Return the fixed worlds."""
        return loop_worlds()

    def strategy(self) -> SearchStrategy[LoopScenario]:
        """Return what draws scenarios; needs the extra ``testing``."""
        from compat.engines.stream_loop.generating import loop_worlds_drawn  # noqa: PLC0415  # an extra

        return loop_worlds_drawn()

    def load(self, text: str, profile: str | None) -> StreamLoopDoor:
        """Return the door that a text names; raises LoadError."""
        return StreamLoopDoor(load_stream_loop(text, profile))

    def view(self, played: PlayedDialect) -> LoopView:
        """Return what the checks read a trace by."""
        return loop_view_of(played)


STREAM_LOOP: Final = LoopFamily()
"""What ``dialects.py`` names."""


@cache
def loop_contract() -> Contract:
    """Return the clauses about the stream loop that come with the package."""
    return read_contract(FILE.read_text("utf-8"), f"stream_loop/{FILE.name}")
