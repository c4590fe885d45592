"""Sessions with callbacks, with all that ``property_tests/dialects`` asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from json import dumps
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from compat.engines.callbacks.capabilities import refuse_callbacks
from compat.engines.callbacks.doors import CallbacksEngine
from compat.engines.callbacks.loading import load_callbacks_engine
from compat.engines.callbacks.playing import play_callbacks
from compat.engines.callbacks.scenario import CallbacksScenario
from compat.engines.capabilities import CapabilityError
from property_tests.callbacks.cases import callbacks_worlds
from property_tests.callbacks.checks import CALLBACKS_CHECKS
from property_tests.callbacks.view import CallbacksView, callbacks_view_of
from property_tests.dialects.dialect import (
    DialectCheck,
    DialectMutant,
    JudgedWorld,
    PlayedDialect,
    RefusedWorldError,
)
from property_tests.dialects.smaller import line_of, smaller_of
from property_tests.registry import Contract, read_contract
from refengine.testing.trace import Trace

FILE: Final = Path(__file__).with_name("contract.toml")


class CallbacksDoor:
    """A door to sessions with callbacks, as a dialect's door: a ``DialectDoor``."""

    def __init__(self, engine: CallbacksEngine) -> None:
        self._engine = engine
        self.name = engine.name
        self.version = engine.version
        self.profile = engine.profile
        self.capabilities = frozenset(engine.capabilities)

    def play(self, scenario: CallbacksScenario) -> Trace:
        """Play a scenario; raises RefusedWorldError."""
        try:
            refuse_callbacks(self._engine, scenario)
        except CapabilityError as error:
            raise RefusedWorldError(str(error)) from error
        return play_callbacks(scenario, self._engine)


class CallbacksFamily:
    """All that is their own in a judgement: a ``Dialect``."""

    name = "callbacks"
    family = "CB"
    title = "the callbacks dialect"

    @property
    def contract(self) -> Contract:
        """The clauses of family CB."""
        return callbacks_contract()

    @property
    def checks(self) -> Sequence[DialectCheck]:
        """What decides them."""
        return CALLBACKS_CHECKS

    @property
    def mutants(self) -> Sequence[DialectMutant]:
        """Broken ones."""
        from property_tests.callbacks.mutants import CALLBACKS_MUTANTS  # noqa: PLC0415  # they are played by the matrix alone

        return CALLBACKS_MUTANTS

    def fixed(self) -> Sequence[JudgedWorld]:
        """Return the fixed worlds."""
        return callbacks_worlds()

    def drawn(self, examples: int, seed: int) -> Iterator[JudgedWorld]:
        """Yield so many drawn ones, always the same."""
        from compat.engines.callbacks.generating import callbacks_worlds_drawn  # noqa: PLC0415  # an extra
        from property_tests.drawing import drawn  # noqa: PLC0415  # an extra

        yield from map(JudgedWorld, drawn(callbacks_worlds_drawn(), examples, seed))

    def load(self, text: str, profile: str | None) -> CallbacksDoor:
        """Return the door that a text names; raises LoadError."""
        return CallbacksDoor(load_callbacks_engine(text, profile))

    def read(self, data: Mapping[str, Any]) -> BaseModel:
        """Return the scenario of this JSON; raises ValidationError."""
        return CallbacksScenario.model_validate_json(dumps(data))

    def smaller(self, scenario: CallbacksScenario) -> Iterator[BaseModel]:
        """Yield scenarios that are less than this one."""
        return smaller_of(scenario)

    def view(self, played: PlayedDialect) -> CallbacksView:
        """Return what the checks read a trace by."""
        return callbacks_view_of(played)

    def lines(self, trace: Trace) -> Sequence[str]:
        """Return every observation in a line."""
        return [line_of(each) for each in trace]


CALLBACKS: Final = CallbacksFamily()
"""What ``dialects.py`` names."""


@cache
def callbacks_contract() -> Contract:
    """Return the clauses about sessions with callbacks that come with the package."""
    return read_contract(FILE.read_text("utf-8"), f"callbacks/{FILE.name}")
