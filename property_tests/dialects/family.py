"""What is alike in all dialects that are judged; each says only what is its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from typing import Any, ClassVar

from pydantic import BaseModel

from compat.engines.capabilities import CapabilityError
from property_tests.dialects.dialect import JudgedWorld, RefusedWorldError
from property_tests.dialects.smaller import line_of, smaller_of
from refengine.testing.trace import Trace


class EngineDoor:
    """An engine of a dialect, as a dialect's door: a ``DialectDoor``.

    A subclass says how a scenario is refused, by CapabilityError, and how it is played.
    """

    refuse: ClassVar[staticmethod[..., None]]
    play_on: ClassVar[staticmethod[..., Trace]]

    def __init__(self, engine: Any) -> None:  # noqa: ANN401  # each dialect has its own
        self._engine = engine
        self.name: str = engine.name
        self.version: str = engine.version
        self.profile: Any = engine.profile
        self.capabilities: frozenset[str] = frozenset(engine.capabilities)

    def play(self, scenario: BaseModel) -> Trace:
        """Play a scenario; raises RefusedWorldError."""
        try:
            self.refuse(self._engine, scenario)
        except CapabilityError as error:
            raise RefusedWorldError(str(error)) from error
        return self.play_on(scenario, self._engine)


class DialectFamily:
    """What every ``Dialect`` does with scenarios of its type."""

    scenario: ClassVar[type[BaseModel]]

    def strategy(self) -> Any:  # noqa: ANN401  # of Hypothesis, which is an extra
        """Return what draws scenarios; needs the extra ``testing``."""
        raise NotImplementedError

    def drawn(self, examples: int, seed: int) -> Iterator[JudgedWorld]:
        """Yield so many drawn ones, always the same; needs the extra ``testing``."""
        from property_tests.drawing import drawn  # noqa: PLC0415  # an extra

        yield from map(JudgedWorld, drawn(self.strategy(), examples, seed))

    def read(self, data: Mapping[str, Any]) -> BaseModel:
        """Return the scenario of this JSON; raises ValidationError."""
        return self.scenario.model_validate_json(dumps(data))

    def smaller(self, scenario: BaseModel) -> Iterator[BaseModel]:
        """Yield scenarios that are less than this one."""
        return smaller_of(scenario)

    def lines(self, trace: Trace) -> Sequence[str]:
        """Return every observation in a line."""
        return [line_of(each) for each in trace]
