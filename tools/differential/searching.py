"""Generated worlds on two engines, and the differences that nothing explains.

A difference is made smaller as soon as it is found, and the other worlds are played all
the same: of one kind the first is kept, and the worlds that show it are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel

from property_tests.drawing import drawn
from refengine.messages import Json
from refengine.testing.trace import Divergence
from tools.differential.explaining import Explained, differences, first_unexplained

S = TypeVar("S", bound=BaseModel)
"""A scenario: what a world is written as."""
REPORTS: Final = 20
"""So often a search says how far it is."""
TRIES: Final = 400
"""So many smaller worlds of a difference are played at most."""


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

    def smallest(self, scenario: S, still: Callable[[S], bool]) -> S:
        """Return the smallest world found for which that holds, as it does for this."""
        ...


@dataclass(frozen=True, slots=True)
class Look:
    """What one world showed on two engines, if it is compared.

    ``used`` names what explains differences in it; ``found`` is the first that nothing
    explains, and ``kind`` says of which kind that is.
    """

    skipped: Skipped | None = None
    used: Sequence[str] = ()
    found: Divergence | None = None
    kind: str = ""


def look(pair: Pair[S], explained: Sequence[Explained], scenario: S) -> Look:
    """Play a world on both, and return what that shows."""
    seen = pair.seen(scenario)
    if isinstance(seen, Skipped):
        return Look(seen)
    used: dict[str, int] = {}
    found = first_unexplained(differences(*seen), explained, used)
    kind = "" if found is None else _kind(found, seen)
    return Look(None, tuple(used), found, kind)


@dataclass(slots=True)
class Unexplained(Generic[S]):
    """A world in which two engines differ, where, and how many are of its kind."""

    scenario: S
    difference: Divergence
    kind: str
    worlds: int = 1

    def __str__(self) -> str:
        world = self.scenario.model_dump_json(exclude_defaults=True)
        return f"UNEXPLAINED {self.kind}\n{self.difference}\n{world}"


Looks: TypeAlias = "Callable[[Sequence[S]], Iterator[Look]]"
"""Plays worlds elsewhere, and yields what each of them showed, in their order."""


@dataclass(slots=True)
class Differential(Generic[S]):
    """What worlds on two engines showed; ``used`` counts worlds by what explains.

    ``lucky`` are those that are not compared, since luck decides what happens.
    ``unexplained`` has the smallest world found of each kind of difference.
    """

    pair: Pair[S]
    explained: Sequence[Explained]
    worlds: int = 0
    lucky: int = 0
    used: dict[str, int] = field(default_factory=dict[str, int])
    unexplained: dict[str, Unexplained[S]] = field(
        default_factory=dict[str, "Unexplained[S]"]
    )

    def run(
        self,
        worlds: int,
        number: int,
        told: Callable[[str], None],
        looks: Looks[S] | None = None,
    ) -> Mapping[str, int]:
        """Play the worlds of known differences, and so many that are drawn.

        A difference of a new kind is told at once, and now and then how far it is.
        """
        known = [self.pair.read(each.world) for each in self.explained if each.world]
        made = [*known, *drawn(self.pair.worlds(), worlds, number)]
        every = max(1, worlds // REPORTS)
        seen = map(self._look, made) if looks is None else looks(made)
        for at, (scenario, each) in enumerate(
            zip(made, seen, strict=True), 1 - len(known)
        ):
            self._keep(scenario, each, told)
            if at > 0 and at % every == 0:
                told(f"{at} of {worlds} worlds, {len(self.unexplained)} differences")
        return self.used

    def look(self, scenario: S) -> Unexplained[S] | None:
        """Play a world on both; return what differs that is not known."""
        return self._count(scenario, self._look(scenario))

    def _look(self, scenario: S) -> Look:
        return look(self.pair, self.explained, scenario)

    def _count(self, scenario: S, seen: Look) -> Unexplained[S] | None:
        """Count a world; return what differs in it that is not known."""
        if seen.skipped is not None:
            self.lucky += seen.skipped is Skipped.LUCK
            return None
        self.worlds += 1
        for each in seen.used:
            self.used[each] = self.used.get(each, 0) + 1
        if seen.found is None:
            return None
        return Unexplained(scenario, seen.found, seen.kind)

    def _keep(self, scenario: S, seen: Look, told: Callable[[str], None]) -> None:
        """Count a world; keep what differs if it is of a new kind, and tell it."""
        found = self._count(scenario, seen)
        if found is None:
            return
        known = self.unexplained.get(found.kind)
        if known is not None:
            known.worlds += 1
            return
        self.unexplained[found.kind] = found
        told(f"{found.kind}: {found.difference}")
        small = self._smallest(found)
        self.unexplained[found.kind] = small
        told(str(small))

    def _smallest(self, found: Unexplained[S]) -> Unexplained[S]:
        """Return the difference in the smallest world found that has it."""
        best = found

        def still(scenario: S) -> bool:
            nonlocal best
            smaller = Differential(self.pair, self.explained).look(scenario)
            if smaller is None or smaller.kind != found.kind:
                return False
            best = smaller
            return True

        self.pair.smallest(found.scenario, still)
        return best


def _kind(found: Divergence, seen: Seen) -> str:
    """Return what a difference has in common with others: of what it is, and where."""
    at = found.index
    entries: list[Any] = [each[at] if at < len(each) else None for each in seen]
    kinds = dict.fromkeys(
        "nothing" if each is None else each["kind"] for each in entries
    )
    return f"{' or '.join(kinds)} {re.sub(r'[0-9]+', '', found.path)}".strip()
