"""The stream loop, with all that ``property_tests/dialects`` asks of a dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from json import dumps
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from compat.engines.capabilities import CapabilityError
from compat.engines.stream_loop.capabilities import refuse_loop
from compat.engines.stream_loop.doors import StreamLoopEngine
from compat.engines.stream_loop.loading import load_stream_loop
from compat.engines.stream_loop.playing import play_loop
from compat.engines.stream_loop.scenario import LoopScenario
from property_tests.dialects.dialect import (
    DialectCheck,
    DialectMutant,
    JudgedWorld,
    PlayedDialect,
    RefusedWorldError,
)
from property_tests.dialects.smaller import line_of, smaller_of
from property_tests.registry import Contract, read_contract
from property_tests.stream_loop.cases import loop_worlds
from property_tests.stream_loop.checks import LOOP_CHECKS
from property_tests.stream_loop.view import LoopView, loop_view_of
from refengine.testing.trace import Trace

FILE: Final = Path(__file__).with_name("contract.toml")


class StreamLoopDoor:
    """A door to a stream loop, as a dialect's door: a ``DialectDoor``."""

    def __init__(self, engine: StreamLoopEngine) -> None:
        self._engine = engine
        self.name = engine.name
        self.version = engine.version
        self.profile = engine.profile
        self.capabilities = frozenset(engine.capabilities)

    def play(self, scenario: LoopScenario) -> Trace:
        """Play a scenario; raises RefusedWorldError."""
        try:
            refuse_loop(self._engine, scenario)
        except CapabilityError as error:
            raise RefusedWorldError(str(error)) from error
        return play_loop(scenario, self._engine)


class LoopFamily:
    """All that is the stream loop's own in a judgement: a ``Dialect``."""

    name = "stream-loop"
    family = "LOOP"
    title = "the stream-loop dialect"

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

    def drawn(self, examples: int, seed: int) -> Iterator[JudgedWorld]:
        """Yield so many drawn ones, always the same."""
        from compat.engines.stream_loop.generating import loop_worlds_drawn  # noqa: PLC0415  # an extra
        from property_tests.drawing import drawn  # noqa: PLC0415  # an extra

        yield from map(JudgedWorld, drawn(loop_worlds_drawn(), examples, seed))

    def load(self, text: str, profile: str | None) -> StreamLoopDoor:
        """Return the door that a text names; raises LoadError."""
        return StreamLoopDoor(load_stream_loop(text, profile))

    def read(self, data: Mapping[str, Any]) -> BaseModel:
        """Return the scenario of this JSON; raises ValidationError."""
        return LoopScenario.model_validate_json(dumps(data))

    def smaller(self, scenario: LoopScenario) -> Iterator[BaseModel]:
        """Yield scenarios that are less than this one."""
        return smaller_of(scenario)

    def view(self, played: PlayedDialect) -> LoopView:
        """Return what the checks read a trace by."""
        return loop_view_of(played)

    def lines(self, trace: Trace) -> Sequence[str]:
        """Return every observation in a line."""
        return [line_of(each) for each in trace]


STREAM_LOOP: Final = LoopFamily()
"""What ``dialects.py`` names."""


@cache
def loop_contract() -> Contract:
    """Return the clauses about the stream loop that come with the package."""
    return read_contract(FILE.read_text("utf-8"), f"stream_loop/{FILE.name}")
