"""What a dialect gives, so that doors to it can be judged.

Everything that is of one dialect alone stands behind these types: its notation of
worlds, how one is played, what is seen, and what its clauses ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from json import dumps
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel, JsonValue

from compat.engines.capabilities import CapabilityError
from property_tests.dialects.smaller import line_of, smaller_of
from property_tests.registry import Contract, read_contract
from refengine.messages import Json
from refengine.postures import AnyProfile
from refengine.testing.trace import Trace, difference, to_json


@dataclass(frozen=True, slots=True)
class JudgedWorld:
    """A scenario of a dialect, and the clause that it was written for, if any."""

    scenario: BaseModel
    clause: str = ""
    fixed: bool = False

    @property
    def json(self) -> dict[str, JsonValue]:
        """The scenario as JSON, without what is as it would be anyway."""
        return scenario_json(self.scenario)


def scenario_json(scenario: BaseModel) -> dict[str, JsonValue]:
    """Return a scenario without defaults, and with what says whose notation it is."""
    found = scenario.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    return {"subject": getattr(scenario, "subject", ""), **found}


@dataclass(frozen=True, slots=True)
class DialectDecision:
    """One decision of a check: what it asked for, and what was seen.

    ``place`` is the number of the observation that decided, None where something is
    missing.
    """

    claim: str
    expected: object
    got: object
    place: int | None = None

    @property
    def difference(self) -> tuple[str, Json, Json] | None:
        """Path and values of the first place where they differ, None if nowhere."""
        return difference(to_json(self.expected), to_json(self.got))

    @property
    def holds(self) -> bool:
        """Whether both are the same, type-strict: 1, 1.0 and true differ."""
        return self.difference is None


@dataclass(frozen=True, slots=True)
class PlayedDialect:
    """A world as a door played it: the scenario, the profile, and what was seen."""

    scenario: Any
    profile: Any
    trace: Any


DialectDecide: TypeAlias = Callable[..., Iterable[DialectDecision]]
DialectVariant: TypeAlias = Callable[[Any], "BaseModel | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectCheck:
    """Decides the clause of that id from what ``Dialect.view`` makes of a trace.

    ``under`` are the options of postures under which the clause holds; under others it
    does not apply. ``needs`` are capabilities. With ``variant`` the clause is about two
    worlds side by side: ``decide`` is given the views of the world and of its variant,
    and is not asked where there is none.
    """

    clause: str
    decide: DialectDecide
    under: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    needs: frozenset[str] = frozenset()
    variant: DialectVariant | None = None

    def missing(self, profile: AnyProfile, capabilities: Iterable[str]) -> str:
        """Return why it does not apply to a door, "" if it does."""
        for posture, options in self.under.items():
            if getattr(profile, posture) not in options:
                wanted = " or ".join(options)
                return f"it holds where {posture} is {wanted}"
        lacking = sorted(self.needs.difference(capabilities))
        return f"the door does not declare {' and '.join(lacking)}" if lacking else ""


class DialectDoor(Protocol):
    """A door to agents of a dialect, as a child has loaded it."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def version(self) -> str:
        """Its own, "" if it tells none."""
        ...

    @property
    def profile(self) -> AnyProfile:
        """The profile that it says it has."""
        ...

    @property
    def capabilities(self) -> frozenset[str]:
        """What it declares."""
        ...

    def play(self, scenario: Any) -> Any:  # noqa: ANN401  # a dialect's own types
        """Play a scenario and return its trace; raises RefusedWorldError."""
        ...


class RefusedWorldError(Exception):
    """A scenario needs what its door does not declare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectMutant:
    """A small broken engine of a dialect: its door, and which clauses it violates.

    It says that it is under the profile ``under``.
    """

    id: str
    about: str
    violates: tuple[str, ...]
    door: Callable[[], DialectDoor]
    under: str


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """A dialect that is judged: all that is its own.

    ``folder`` is where its contract stands, beside this one. ``engine`` loads what a
    text names, under a profile (it raises LoadError); ``refuse`` raises CapabilityError
    for a scenario that an engine has no place for, and ``play`` plays one on it.
    ``broken`` and ``strategy`` import what only a matrix and an extra need.
    """

    name: str
    family: str
    title: str
    folder: str
    scenario: type[BaseModel]
    checks: Sequence[DialectCheck]
    fixed: Callable[[], Sequence[JudgedWorld]]
    engine: Callable[[str, str | None], Any]
    refuse: Callable[[Any, Any], None]
    play: Callable[[Any, Any], Trace]
    view: Callable[[PlayedDialect], Any]
    broken: Callable[[], Sequence[DialectMutant]]
    strategy: Callable[[], Any]
    smaller: Callable[[Any], Iterator[BaseModel]] = smaller_of

    @cached_property
    def contract(self) -> Contract:
        """The clauses of its family, which come with the package."""
        where = f"{self.folder}/contract.toml"
        text = files("property_tests").joinpath(where).read_text("utf-8")
        return read_contract(text, where)

    @cached_property
    def mutants(self) -> Sequence[DialectMutant]:
        """Broken engines of it."""
        return self.broken()

    def drawn(self, examples: int, seed: int) -> Iterator[JudgedWorld]:
        """Yield so many drawn worlds, always the same; needs the extra ``testing``."""
        from property_tests.drawing import drawn  # noqa: PLC0415  # an extra

        yield from map(JudgedWorld, drawn(self.strategy(), examples, seed))

    def door(self, engine: Any) -> EngineDoor:  # noqa: ANN401  # its own type
        """Return an engine of it as a door."""
        return EngineDoor(self, engine)

    def load(self, text: str, profile: str | None) -> EngineDoor:
        """Return the door that a text names; raises LoadError."""
        return self.door(self.engine(text, profile))

    def read(self, data: Mapping[str, Any]) -> BaseModel:
        """Return the scenario of this JSON; raises ValidationError."""
        return self.scenario.model_validate_json(dumps(data))

    def lines(self, trace: Trace) -> Sequence[str]:
        """Return every observation in a line."""
        return [line_of(each) for each in trace]


class EngineDoor:
    """An engine of a dialect, as a dialect's door: a ``DialectDoor``."""

    def __init__(self, dialect: Dialect, engine: Any) -> None:  # noqa: ANN401  # each dialect has its own
        self._dialect = dialect
        self._engine = engine
        self.name: str = engine.name
        self.version: str = engine.version
        self.profile: Any = engine.profile
        self.capabilities: frozenset[str] = frozenset(engine.capabilities)

    def play(self, scenario: BaseModel) -> Trace:
        """Play a scenario; raises RefusedWorldError."""
        try:
            self._dialect.refuse(self._engine, scenario)
        except CapabilityError as error:
            raise RefusedWorldError(str(error)) from error
        return self._dialect.play(scenario, self._engine)
