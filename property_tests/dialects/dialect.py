"""What a dialect gives, so that doors to it can be judged.

Everything that is of one dialect alone stands behind these types: its notation of
worlds, how one is played, what is seen, and what its clauses ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from json import dumps, loads
from typing import Any, Protocol

from pydantic import BaseModel, JsonValue

from compat.engines.capabilities import CapabilityError
from property_tests.dialects.compared import CLAIM, ComparedClause, Entries, Oracle
from property_tests.dialects.decision import scenario_json
from property_tests.dialects.smaller import line_of, smaller_of
from property_tests.registry import Contract, read_contract
from refengine.postures import AnyProfile
from refengine.testing.trace import Trace


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


def contract_in(folder: str) -> Contract:
    """Return the clauses that stand in a folder beside this one."""
    where = f"{folder}/contract.toml"
    text = files("property_tests").joinpath(where).read_text("utf-8")
    return read_contract(text, where)


def worlds_in(folder: str, scenario: type[BaseModel]) -> tuple[JudgedWorld, ...]:
    """Return the fixed worlds that stand in a folder beside this one, by clause.

    An entry of ``worlds.json`` has a world and the clauses that it is written ``for``;
    every clause is decided in all worlds that are its own.
    """
    text = files("property_tests").joinpath(f"{folder}/worlds.json").read_text("utf-8")
    found = [
        JudgedWorld(
            scenario.model_validate_json(dumps(each["world"])), clause, fixed=True
        )
        for each in loads(text)
        for clause in each["for"]
    ]
    return tuple(sorted(found, key=lambda each: each.clause))


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """A dialect that is judged: all that is its own.

    ``folder`` is where its contract stands, beside this one. ``engine`` loads what a
    text names, under a profile (it raises LoadError); ``refuse`` raises CapabilityError
    for a scenario that an engine has no place for, and ``play`` plays one on it.
    ``reference`` makes the engine that says what is right under a profile, for one that
    declares these capabilities, and ``entries`` what is compared of a trace. ``broken``
    and ``strategy`` import what only a matrix and an extra need.
    """

    name: str
    family: str
    title: str
    folder: str
    scenario: type[BaseModel]
    fixed: Callable[[], Sequence[JudgedWorld]]
    engine: Callable[[str, str | None], Any]
    refuse: Callable[[Any, Any], None]
    play: Callable[[Any, Any], Trace]
    broken: Callable[[], Sequence[DialectMutant]]
    strategy: Callable[[], Any]
    reference: Callable[[Any, frozenset[str]], Any]
    entries: Entries
    smaller: Callable[[Any], Iterator[BaseModel]] = smaller_of
    worker: str = "property_tests.dialects.worker"
    """The module of the child that has a door of it."""
    claim: str = CLAIM
    """What its reports call what a door was asked for."""

    @cached_property
    def contract(self) -> Contract:
        """The clauses of its family, which come with the package."""
        return contract_in(self.folder)

    @cached_property
    def checks(self) -> Sequence[ComparedClause]:
        """What decides its clauses."""
        return tuple(ComparedClause(e, self.claim) for e in self.contract.checked)

    @cached_property
    def oracle(self) -> Oracle:
        """What says what is right in a world."""

        def play(world: BaseModel, profile: AnyProfile, can: frozenset[str]) -> Trace:
            return self.play(world, self.reference(profile, can))

        return Oracle(play, self.entries)

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
