"""The Flow dialect, with all that ``property_tests/dialects`` asks of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from json import dumps
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, JsonValue

from compat.engines.capabilities import CapabilityError
from compat.engines.flow.capabilities import refuse_flow
from compat.engines.flow.doors import FlowEngine
from compat.engines.flow.loading import load_flow_engine
from compat.engines.flow.playing import play_flow
from compat.engines.flow.scenario import FlowScenario
from property_tests.dialects.dialect import (
    DialectCheck,
    DialectMutant,
    JudgedWorld,
    PlayedDialect,
    RefusedWorldError,
)
from property_tests.dialects.smaller import line_of, smaller_of
from property_tests.flow.cases import fixed_worlds
from property_tests.flow.checks import FLOW_CHECKS
from property_tests.flow.view import FlowView, view_of
from property_tests.registry import Contract, read_contract
from refengine.testing.trace import Trace

FILE: Final = Path(__file__).with_name("contract.toml")


class FlowDoor:
    """A door to a Flow engine, as a dialect's door: a ``DialectDoor``."""

    def __init__(self, engine: FlowEngine) -> None:
        self._engine = engine
        self.name = engine.name
        self.version = engine.version
        self.profile = engine.profile
        self.capabilities = frozenset(engine.capabilities)

    def play(self, scenario: FlowScenario) -> Trace:
        """Play a scenario; raises RefusedWorldError."""
        try:
            refuse_flow(self._engine, scenario)
        except CapabilityError as error:
            raise RefusedWorldError(str(error)) from error
        return play_flow(scenario, self._engine)


class FlowFamily:
    """All that is the Flow dialect's own in a judgement: a ``Dialect``."""

    name = "flow"
    family = "FLOW"
    title = "the Flow dialect"

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

    def drawn(self, examples: int, seed: int) -> Iterator[JudgedWorld]:
        """Yield so many drawn ones, always the same; needs the extra ``testing``."""
        from compat.engines.flow.generating import flow_worlds  # noqa: PLC0415  # Hypothesis is an extra
        from property_tests.drawing import drawn  # noqa: PLC0415  # as above

        yield from map(JudgedWorld, drawn(flow_worlds(), examples, seed))

    def load(self, text: str, profile: str | None) -> FlowDoor:
        """Return the door that a text names; raises LoadError."""
        return FlowDoor(load_flow_engine(text, profile))

    def read(self, data: Mapping[str, Any]) -> BaseModel:
        """Return the scenario of this JSON; raises ValidationError."""
        return FlowScenario.model_validate_json(dumps(data))

    def smaller(self, scenario: FlowScenario) -> Iterator[BaseModel]:
        """Yield scenarios that are less than this one, and end whatever is said."""
        for smaller in smaller_of(scenario):
            if not _endless(smaller.model_dump(mode="json", exclude_defaults=True)):
                yield smaller

    def view(self, played: PlayedDialect) -> FlowView:
        """Return what the checks read a trace by."""
        return view_of(played)

    def lines(self, trace: Trace) -> Sequence[str]:
        """Return every observation in a line."""
        return [line_of(each) for each in trace]


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
