"""Judging one world of a dialect, and shrinking one in which a clause fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import BaseModel, JsonValue

from compat.verdicts.conformance import ClauseFailure, SeenLine
from property_tests.dialects.compared import ComparedClause, Oracle, first_of
from property_tests.dialects.decision import DialectDecision, scenario_json
from property_tests.dialects.dialect import (
    Dialect,
    DialectDoor,
    RefusedWorldError,
)
from refengine.testing.trace import Trace, to_json

NEAR: Final = 4
"""So many observations before the one that decided, and one behind, are shown."""
TRIES: Final = 120
"""So many smaller worlds are tried."""


@dataclass(slots=True)
class DecidedWorld:
    """What the clauses said of one world: how often each decided, and what failed.

    ``behind`` are clauses that differ where another did so before.
    """

    decided: dict[str, int] = field(default_factory=dict[str, int])
    failed: dict[str, ClauseFailure] = field(default_factory=dict[str, ClauseFailure])
    behind: list[str] = field(default_factory=list[str])
    refused: str = ""


class WorldDecider:
    """The clauses of a dialect in front of one door."""

    def __init__(
        self,
        dialect: Dialect,
        door: DialectDoor,
        checks: Sequence[ComparedClause],
        oracle: Oracle | None = None,
    ) -> None:
        """``oracle`` says what is right, in place of the dialect's reference."""
        self._dialect, self._door = dialect, door
        self._oracle = oracle or dialect.oracle
        self._checks = [
            each for each in checks if not each.missing(door.profile, door.capabilities)
        ]

    @property
    def applying(self) -> tuple[str, ...]:
        """The clauses that apply to the door."""
        return tuple(each.clause for each in self._checks)

    def judge(self, scenario: BaseModel, only: Sequence[str] = ()) -> DecidedWorld:
        """Play a scenario and hold its trace against the reference's.

        All clauses say which of them differs first, also where ``only`` some are asked.
        """
        oracle, door = self._oracle, self._door
        try:
            trace = door.play(scenario)
            right = oracle.right(scenario, door.profile, door.capabilities)
        except RefusedWorldError as error:
            return DecidedWorld(refused=str(error))
        seen = oracle.entries(trace, scenario)
        decisions = {x.clause: list(x.decisions(right, seen)) for x in self._checks}
        failing, behind = first_of(decisions, right, seen)
        asked = set(only or decisions)
        return DecidedWorld(
            {x: len(each) for x, each in decisions.items() if each and x in asked},
            {
                clause: self._failure(each, scenario, trace)
                for clause, each in failing.items()
                if clause in asked
            },
            [each for each in behind if each in asked],
        )

    def _failure(
        self, decision: DialectDecision, scenario: BaseModel, trace: Trace
    ) -> ClauseFailure:
        lines = self._dialect.lines(trace)
        path = decision.difference[0] if decision.difference else ""
        return ClauseFailure(
            variant="played",
            asked=decision.claim,
            expected=cast("JsonValue", to_json(decision.expected)),
            got=cast("JsonValue", to_json(decision.got)),
            path=path,
            around=tuple(_around(lines, decision.place)),
            scenario=scenario_json(scenario),
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
