"""What a check is: code that decides one clause from the traces of one world.

A check is given a case and yields decisions. Each names the observation that decided,
what was asked for there, and both values, so a verdict is bound to its cause: a check
that yields nothing did not decide, and never counts as passed (verdicts, Conformance).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, cast

from property_tests.agreeing import agree
from property_tests.view import View
from refengine.messages import Json
from refengine.profile import Profile
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Observation, difference, to_json

PLAYED: Final = "played"
"""The variant that is the scenario itself."""

OF_PARTS: Final = frozenset(("INT", "SER"))
"""Families about the parts of a run that was kept; others ask of it as a whole."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: at an observation, this was asked for, and this is what was seen.

    ``at`` is None where something is missing: then nothing was observed to point to.
    """

    claim: str
    expected: object
    got: object
    at: Observation | None = None
    variant: str = PLAYED

    @property
    def holds(self) -> bool:
        """Whether both are the same, type-strict: 1, 1.0 and true differ."""
        return self.difference is None

    @property
    def difference(self) -> tuple[str, Json, Json] | None:
        """Path and values of the first place where they differ, None if nowhere."""
        if agree(self.expected, self.got):
            return None
        if _same_objects(self.expected, self.got):
            return None
        return difference(to_json(self.expected), to_json(self.got))


class Beside(Protocol):
    """A world as an engine played it, beside the reference engine."""

    def of(self, clause: str) -> Sequence[Decision]:
        """Return what a clause decides that is decided by comparison."""
        ...


@dataclass(frozen=True, slots=True)
class PlayedWorld:
    """One world as an engine played it: a view for each variant that a check needs.

    ``joined`` are those of whole runs where runs were kept: a view that is missing
    there has parts that make no whole. It is None where no run has parts.
    """

    scenario: Scenario
    profile: Profile
    views: Mapping[str, View] = field(default_factory=dict[str, View])
    joined: Mapping[str, View] | None = None
    cut: bool = False
    """Whether the world was cut down to what the engine declares."""
    compared: Beside | None = None

    @property
    def played(self) -> View:
        """The scenario itself, as it was played."""
        return self.views[PLAYED]

    def __getitem__(self, variant: str) -> View:
        return self.views[variant]

    @property
    def whole(self) -> PlayedWorld:
        """The world with whole runs instead of the parts that they were kept in."""
        if self.joined is None:
            return self
        found = self.joined.get(PLAYED)
        scenario = self.scenario if found is None else found.scenario
        return PlayedWorld(scenario, self.profile, self.joined)

    def has(self, *variants: str) -> bool:
        """Tell whether these variants exist for this scenario."""
        return all(each in self.views for each in variants)


Decide: TypeAlias = Callable[[PlayedWorld], Iterable[Decision]]
Meant: TypeAlias = Callable[[Scenario], bool]


def any_world(_: Scenario) -> bool:
    """Let a check look at every world."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Decides the clause of that id.

    ``needs`` are capabilities that an engine must declare, all of them, and of
    ``any_of`` one, or the clause does not apply to it. ``variants`` are played beside
    the scenario itself; ``meant`` tells, before anything is played, which worlds are
    worth looking at. With ``compares`` the reference engine says what is right
    (``oracle``), and of which worlds is data of the clause.
    """

    clause: str
    decide: Decide
    needs: frozenset[str] = frozenset()
    any_of: frozenset[str] = frozenset()
    variants: tuple[str, ...] = ()
    meant: Meant = any_world
    compares: bool = False

    @property
    def family(self) -> str:
        """The family of its clause."""
        return self.clause.partition("-")[0]

    def applies(self, capabilities: frozenset[str]) -> bool:
        """Tell whether the clause applies to an engine that declares these."""
        some = not self.any_of or bool(self.any_of & capabilities)
        return some and self.needs <= capabilities

    def decisions(self, case: PlayedWorld) -> Iterator[Decision]:
        """Yield the decisions of a case; none if a variant of it does not exist.

        A world that was cut down may be none any more that is worth looking at.
        """
        parts = self.compares or self.family in OF_PARTS
        seen = case if parts else case.whole
        there = seen.has(PLAYED, *self.variants)
        meant = not case.cut or self.meant(case.scenario)
        return iter(self.decide(seen) if there and meant else ())


def _same_objects(expected: object, got: object) -> bool:
    """Tell at once that two histories are made of the very same messages.

    Most engines pass messages on as they are, and comparing them field by field for
    every hook would cost more than the run. Equal values of other types are left to the
    comparison as JSON, which tells 1 from true.
    """
    if expected is got:
        return True
    if isinstance(expected, str) or isinstance(got, str):
        return type(expected) is type(got) and expected == got
    if isinstance(expected, Sequence) and isinstance(got, Sequence):
        ours = cast("Sequence[object]", expected)
        theirs = cast("Sequence[object]", got)
        return len(ours) == len(theirs) and all(
            a is b for a, b in zip(ours, theirs, strict=True)
        )
    return False
