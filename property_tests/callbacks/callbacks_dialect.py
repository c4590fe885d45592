"""Sessions with callbacks, with all that ``property_tests/dialects`` asks for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat.engines.callbacks.capabilities import refuse_callbacks
from compat.engines.callbacks.loading import load_callbacks_engine
from compat.engines.callbacks.playing import play_callbacks
from compat.engines.callbacks.scenario import CallbacksScenario
from property_tests.callbacks.cases import callbacks_worlds
from property_tests.callbacks.checks import CALLBACKS_CHECKS
from property_tests.callbacks.view import CallbacksView, callbacks_view_of
from property_tests.dialects.dialect import (
    DialectCheck,
    DialectMutant,
    JudgedWorld,
    PlayedDialect,
)
from property_tests.dialects.family import DialectFamily, EngineDoor
from property_tests.registry import Contract, read_contract

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

FILE: Final = Path(__file__).with_name("contract.toml")


class CallbacksDoor(EngineDoor):
    """A door to sessions with callbacks, as a dialect's door: a ``DialectDoor``."""

    refuse = staticmethod(refuse_callbacks)
    play_on = staticmethod(play_callbacks)


class CallbacksFamily(DialectFamily):
    """All that is their own in a judgement: a ``Dialect``."""

    name = "callbacks"
    family = "CB"
    title = "the callbacks dialect"
    scenario = CallbacksScenario

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

    def strategy(self) -> SearchStrategy[CallbacksScenario]:
        """Return what draws scenarios; needs the extra ``testing``."""
        from compat.engines.callbacks.generating import callbacks_worlds_drawn  # noqa: PLC0415  # an extra

        return callbacks_worlds_drawn()

    def load(self, text: str, profile: str | None) -> CallbacksDoor:
        """Return the door that a text names; raises LoadError."""
        return CallbacksDoor(load_callbacks_engine(text, profile))

    def view(self, played: PlayedDialect) -> CallbacksView:
        """Return what the checks read a trace by."""
        return callbacks_view_of(played)


CALLBACKS: Final = CallbacksFamily()
"""What ``dialects.py`` names."""


@cache
def callbacks_contract() -> Contract:
    """Return the clauses about sessions with callbacks that come with the package."""
    return read_contract(FILE.read_text("utf-8"), f"callbacks/{FILE.name}")
