"""What a dialect gives, so that doors to it can be judged.

Everything that is of one dialect alone stands behind these types: its notation of
worlds, how one is played, what is seen, and what its clauses ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel, JsonValue

from property_tests.registry import Contract
from refengine.messages import Json
from refengine.postures import AnyProfile
from refengine.testing.trace import difference, to_json


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


class Dialect(Protocol):
    """A dialect that is judged: all that is its own."""

    name: str
    family: str
    title: str

    @property
    def contract(self) -> Contract:
        """Its clauses."""
        ...

    @property
    def checks(self) -> Sequence[DialectCheck]:
        """What decides them."""
        ...

    @property
    def mutants(self) -> Sequence[DialectMutant]:
        """Broken engines of it."""
        ...

    def fixed(self) -> Sequence[JudgedWorld]:
        """Return its fixed worlds."""
        ...

    def drawn(self, examples: int, seed: int) -> Iterator[JudgedWorld]:
        """Yield so many drawn ones, always the same."""
        ...

    def load(self, text: str, profile: str | None) -> DialectDoor:
        """Return the door that a text names; raises LoadError."""
        ...

    def read(self, data: Mapping[str, Any]) -> BaseModel:
        """Return the scenario of this JSON; raises ValidationError."""
        ...

    def smaller(self, scenario: Any) -> Iterator[BaseModel]:  # noqa: ANN401  # its own type
        """Yield scenarios that are less than this one."""
        ...

    def view(self, played: PlayedDialect) -> Any:  # noqa: ANN401  # what its checks read
        """Return what the checks read a trace by."""
        ...

    def lines(self, trace: Any) -> Sequence[str]:  # noqa: ANN401  # its own type
        """Return every observation in a line."""
        ...
