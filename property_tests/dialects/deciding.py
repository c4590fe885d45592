"""Letting checks decide in one world of a dialect, and shrinking one that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pydantic import BaseModel, JsonValue

from compat.verdicts.conformance import ClauseFailure, SeenLine
from property_tests.dialects.compared import ComparedClause, entries_of, first_of
from property_tests.dialects.decision import DialectDecision, scenario_json
from property_tests.dialects.dialect import (
    Dialect,
    DialectCheck,
    DialectDoor,
    PlayedDialect,
    RefusedWorldError,
)
from refengine.testing.trace import to_json

NEAR: Final = 4
"""So many observations before the one that decided, and one behind, are shown."""
TRIES: Final = 120
"""So many smaller worlds are tried."""


@dataclass(slots=True)
class DecidedWorld:
    """What the checks said of one world: how often each decided, and what failed.

    ``errors`` are checks that broke down over the trace. ``behind`` are clauses that
    differ from the reference where another did so before.
    """

    decided: dict[str, int] = field(default_factory=dict[str, int])
    failed: dict[str, ClauseFailure] = field(default_factory=dict[str, ClauseFailure])
    errors: dict[str, str] = field(default_factory=dict[str, str])
    behind: list[str] = field(default_factory=list[str])
    refused: str = ""


class WorldDecider:
    """The checks of a dialect in front of one door."""

    def __init__(
        self,
        dialect: Dialect,
        door: DialectDoor,
        checks: Sequence[DialectCheck | ComparedClause],
    ) -> None:
        self._dialect, self._door = dialect, door
        self._checks = [
            each for each in checks if not each.missing(door.profile, door.capabilities)
        ]

    @property
    def applying(self) -> tuple[str, ...]:
        """The clauses that apply to the door."""
        return tuple(each.clause for each in self._checks)

    def judge(self, scenario: BaseModel, only: Sequence[str] = ()) -> DecidedWorld:
        """Play a scenario and let the checks, or only some, decide."""
        found = DecidedWorld()
        try:
            trace = self._door.play(scenario)
        except RefusedWorldError as error:
            found.refused = str(error)
            return found
        played = PlayedDialect(scenario, self._door.profile, trace)
        self._compare(played, only, found)
        self._check(played, only, found)
        return found

    def _compare(
        self, played: PlayedDialect, only: Sequence[str], found: DecidedWorld
    ) -> None:
        """Hold a trace against the reference's; all clauses say which is the first."""
        clauses = [x for x in self._checks if isinstance(x, ComparedClause)]
        oracle = self._dialect.oracle
        if oracle is None or not clauses:
            return
        right = oracle.right(played.scenario, played.profile, self._door.capabilities)
        seen = entries_of(played.trace, oracle.words(played.scenario))
        decisions = {x.clause: list(x.decisions(right, seen)) for x in clauses}
        found.decided = {
            clause: len(each)
            for clause, each in decisions.items()
            if each and (not only or clause in only)
        }
        failing, behind = first_of(decisions, right)
        found.behind = [each for each in behind if not only or each in only]
        for clause, decision in failing.items():
            if not only or clause in only:
                found.failed[clause] = self._failure(decision, played)

    def _check(
        self, played: PlayedDialect, only: Sequence[str], found: DecidedWorld
    ) -> None:
        checks = [x for x in self._checks if isinstance(x, DialectCheck)]
        asked = [each for each in checks if not only or each.clause in only]
        if asked and self._dialect.view is not None:
            view = self._dialect.view(played)
            for check in asked:
                self._ask(check, view, played, found)

    def _ask(
        self,
        check: DialectCheck,
        view: Any,  # noqa: ANN401  # a dialect's own type
        played: PlayedDialect,
        found: DecidedWorld,
    ) -> None:
        try:
            views = self._views(check, view, played)
            decisions = list(check.decide(*views)) if views else []
        except RefusedWorldError:
            return
        except Exception as error:  # noqa: BLE001  # a check may meet anything
            found.errors[check.clause] = f"{type(error).__name__}: {error}"
            return
        if decisions:
            found.decided[check.clause] = len(decisions)
        failing = next((each for each in decisions if not each.holds), None)
        if failing is not None:
            found.failed[check.clause] = self._failure(failing, played)

    def _views(
        self,
        check: DialectCheck,
        view: Any,  # noqa: ANN401  # a dialect's own type
        played: PlayedDialect,
    ) -> Sequence[Any]:
        """Return what a check is given, nothing where its world has no variant."""
        if check.variant is None:
            return (view,)
        other = check.variant(played.scenario)
        if other is None:
            return ()
        trace = self._door.play(other)
        beside = PlayedDialect(other, self._door.profile, trace)
        return () if self._dialect.view is None else (view, self._dialect.view(beside))

    def _failure(
        self, decision: DialectDecision, played: PlayedDialect
    ) -> ClauseFailure:
        lines = self._dialect.lines(played.trace)
        path = decision.difference[0] if decision.difference else ""
        return ClauseFailure(
            variant="played",
            asked=decision.claim,
            expected=cast("JsonValue", to_json(decision.expected)),
            got=cast("JsonValue", to_json(decision.got)),
            path=path,
            around=tuple(_around(lines, decision.place)),
            scenario=scenario_json(played.scenario),
        )

    def smallest(self, clause: str, scenario: BaseModel) -> ClauseFailure | None:
        """Return the failure of a clause in the smallest world found; None if none."""
        return smallest_failure(
            self._dialect, scenario, lambda each: self._fails(clause, each)
        )

    def _fails(self, clause: str, scenario: BaseModel) -> ClauseFailure | None:
        return self.judge(scenario, (clause,)).failed.get(clause)


def smallest_failure(
    dialect: Dialect,
    scenario: BaseModel,
    fails: Callable[[BaseModel], ClauseFailure | None],
) -> ClauseFailure | None:
    """Return the failure in the smallest world found that fails alike; None if none."""
    failure = fails(scenario)
    left = TRIES if failure is not None else 0
    found = True
    while found and left:
        found = False
        for candidate in dialect.smaller(scenario):
            left -= 1
            tried = fails(candidate)
            if tried is not None and failure is not None and _alike(tried, failure):
                scenario, failure, found = candidate, tried, True
                break
            if not left:
                break
    return failure


def _alike(one: ClauseFailure, other: ClauseFailure) -> bool:
    return one.asked == other.asked


def _around(lines: Sequence[str], place: int | None) -> Iterator[SeenLine]:
    """Yield the observations near the one that decided; the last ones if none did."""
    at = len(lines) if place is None else place
    for number in range(max(0, at - NEAR), min(len(lines), at + 2)):
        yield SeenLine(mark=">" if number == place else " ", text=lines[number])
