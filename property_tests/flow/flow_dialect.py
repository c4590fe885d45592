"""The Flow dialect, with all that ``property_tests/dialects`` asks of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, JsonValue

from compat.engines.flow.capabilities import refuse_flow
from compat.engines.flow.loading import load_flow_engine
from compat.engines.flow.playing import play_flow
from compat.engines.flow.scenario import FlowScenario
from property_tests.dialects.dialect import (
    DialectCheck,
    DialectMutant,
    JudgedWorld,
    PlayedDialect,
)
from property_tests.dialects.family import DialectFamily, EngineDoor
from property_tests.flow.cases import fixed_worlds
from property_tests.flow.checks import FLOW_CHECKS
from property_tests.flow.view import FlowView, view_of
from property_tests.registry import Contract, read_contract

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

FILE: Final = Path(__file__).with_name("contract.toml")


class FlowDoor(EngineDoor):
    """A door to a Flow engine, as a dialect's door: a ``DialectDoor``."""

    refuse = staticmethod(refuse_flow)
    play_on = staticmethod(play_flow)


class FlowFamily(DialectFamily):
    """All that is the Flow dialect's own in a judgement: a ``Dialect``."""

    name = "flow"
    family = "FLOW"
    title = "the Flow dialect"
    scenario = FlowScenario

    @property
    def contract(self) -> Contract:
        """The clauses of family FLOW."""
        return flow_contract()

    @property
    def checks(self) -> Sequence[DialectCheck]:
        """What decides them."""
        return FLOW_CHECKS

    @property
    def mutants(self) -> Sequence[DialectMutant]:
        """Broken engines of it."""
        from property_tests.flow.mutants import FLOW_MUTANTS  # noqa: PLC0415  # they are played by the matrix alone

        return FLOW_MUTANTS

    def fixed(self) -> Sequence[JudgedWorld]:
        """Return the fixed worlds."""
        return fixed_worlds()

    def strategy(self) -> SearchStrategy[FlowScenario]:
        """Return what draws scenarios; needs the extra ``testing``."""
        from compat.engines.flow.generating import flow_worlds  # noqa: PLC0415  # an extra

        return flow_worlds()

    def load(self, text: str, profile: str | None) -> FlowDoor:
        """Return the door that a text names; raises LoadError."""
        return FlowDoor(load_flow_engine(text, profile))

    def smaller(self, scenario: BaseModel) -> Iterator[BaseModel]:
        """Yield scenarios that are less than this one, and end whatever is said."""
        for smaller in super().smaller(scenario):
            if not _endless(smaller.model_dump(mode="json", exclude_defaults=True)):
                yield smaller

    def view(self, played: PlayedDialect) -> FlowView:
        """Return what the checks read a trace by."""
        return view_of(played)


FLOW: Final = FlowFamily()
"""What ``dialects.py`` names."""


@cache
def flow_contract() -> Contract:
    """Return the clauses about the Flow dialect that come with the package."""
    return read_contract(FILE.read_text("utf-8"), f"flow/{FILE.name}")


def _endless(data: JsonValue) -> bool:
    """Tell whether a loop is there that nothing ends but what its agents say."""
    if isinstance(data, list):
        return any(map(_endless, data))
    if not isinstance(data, dict):
        return False
    unbounded = data.get("kind") == "loop" and not data.get("max_iterations")
    return unbounded or any(map(_endless, data.values()))
