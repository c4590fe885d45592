"""Generated worlds on two engines, and the first difference that nothing explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, cast

from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel

from refengine.messages import Json
from refengine.testing.trace import Divergence
from tools.differential.explaining import Explained, differences, first_unexplained

S = TypeVar("S", bound=BaseModel)
"""A scenario: what a world is written as."""


class Skipped(Enum):
    """Why a world is not compared."""

    REFUSED = auto()
    """one of the engines has no place for what it needs"""
    LUCK = auto()
    """luck decides what happens in it"""


Seen: TypeAlias = "tuple[Sequence[Json], Sequence[Json]]"
"""What ours and theirs saw of one world, in a form in which it can be compared."""


class Pair(Protocol[S]):
    """Two engines for agents of one kind: what they are asked to play, and how."""

    @property
    def under(self) -> str:
        """The name of the profile of ours."""
        ...

    @property
    def version(self) -> str:
        """The version of theirs."""
        ...

    def worlds(self) -> SearchStrategy[S]:
        """Return what worlds are drawn from."""
        ...

    def read(self, text: str) -> S:
        """Read a world that an explained difference has itself; raises ValueError."""
        ...

    def seen(self, scenario: S) -> Seen | Skipped:
        """Play a world on both, if that says anything."""
        ...


@dataclass(frozen=True, slots=True)
class Unexplained(Generic[S]):
    """The smallest world found in which two engines differ, and where."""

    scenario: S
    difference: Divergence


_ALL_CHECKS: Final[Sequence[HealthCheck]] = tuple(cast("Any", HealthCheck))
"""What Hypothesis minds about worlds that are large or slow is no fault here."""


class _DifferError(AssertionError):
    """A world in which something differs that nothing explains."""

    def __init__(self, found: Unexplained[Any]) -> None:
        self.found = found
        super().__init__(str(found.difference))


@dataclass(slots=True)
class Differential(Generic[S]):
    """What worlds on two engines showed; ``used`` counts worlds by what explains.

    ``lucky`` are those that are not compared, since luck decides what happens.
    """

    pair: Pair[S]
    explained: Sequence[Explained]
    worlds: int = 0
    lucky: int = 0
    used: dict[str, int] = field(default_factory=dict[str, int])
    unexplained: Unexplained[S] | None = None

    def run(self, worlds: int, number: int) -> Mapping[str, int]:
        """Play the worlds of known differences, and so many that are drawn.

        A first unexplained difference in one of these is shrunk, and kept.
        """

        @seed(number)
        @settings(
            max_examples=worlds,
            database=None,
            deadline=None,
            suppress_health_check=_ALL_CHECKS,
            report_multiple_bugs=False,
        )
        @given(self.pair.worlds())
        def plays_alike(scenario: S) -> None:
            self.look(scenario)

        try:
            for each in filter(None, (known.world for known in self.explained)):
                self.look(self.pair.read(each))
            plays_alike()
        except _DifferError as error:
            self.unexplained = error.found
        return self.used

    def look(self, scenario: S) -> None:
        """Play a world on both; raises where something differs that is not known."""
        seen = self.pair.seen(scenario)
        if isinstance(seen, Skipped):
            self.lucky += seen is Skipped.LUCK
            return
        self.worlds += 1
        found = first_unexplained(differences(*seen), self.explained, self.used)
        if found is not None:
            raise _DifferError(Unexplained(scenario, found))
