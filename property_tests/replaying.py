"""Playing one stored world again, to see whether its clause still fails in it.

Known failures and failure files both ask this. What answers is an engine at hand, or a
worker that has one; a world that decides nothing is told as such and never as mended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from compat.verdicts.conformance import Failure
from property_tests.check import Check
from property_tests.failing import failure_of
from property_tests.playing import Player, RefusedError
from refengine.testing.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of it.

    ``failure`` is there if the clause fails. ``decided`` counts the decisions; none,
    with ``lost`` to say why, is no answer at all. ``broken`` says what broke down, and
    ``usage`` what is wrong with the engine that was named.
    """

    decided: int = 0
    failure: Failure | None = None
    lost: str = ""
    broken: str = ""
    usage: str = ""

    @property
    def holds(self) -> bool:
        """Whether the check decided, and for the engine."""
        return self.failure is None and self.decided > 0


Replay: TypeAlias = Callable[[str, Scenario], Replayed]
"""Plays a world for the check of one clause."""


class Asks(Protocol):
    """What has a worker: ``property_tests.pool.Pool``."""

    def one(self, request: Mapping[str, Any], /) -> Mapping[str, Any]:
        """Return the answer to one request."""
        ...


def here(player: Player, checks: Sequence[Check]) -> Replay:
    """Return the replay on an engine of this process."""
    by_clause = {each.clause: each for each in checks}

    def replay(clause: str, world: Scenario) -> Replayed:
        check = by_clause.get(clause)
        if check is None:
            return Replayed(lost=f"there is no check of {clause}")
        try:
            case = player.case(world, check.variants)
        except RefusedError as error:
            return Replayed(lost=str(error))
        decided = list(check.decisions(case))
        failing = next((each for each in decided if not each.holds), None)
        found = None if failing is None else failure_of(case, failing)
        return Replayed(len(decided), found, _undecided(clause, len(decided)))

    return replay


def by_worker(pool: Asks) -> Replay:
    """Return the replay on the engine that a worker has."""

    def replay(clause: str, world: Scenario) -> Replayed:
        scenario = world.model_dump(mode="json", exclude_defaults=True)
        reply = pool.one({"op": "replay", "clause": clause, "scenario": scenario})
        return replayed(clause, reply)

    return replay


def replayed(clause: str, reply: Mapping[str, Any]) -> Replayed:
    """Return what a worker's reply says."""
    said = {name: reply[name] for name in ("lost", "broken", "usage") if name in reply}
    if said:
        return Replayed(**said)
    failure, decided = reply.get("failure"), int(reply["decided"])
    return Replayed(
        decided,
        None if failure is None else Failure.model_validate(failure),
        _undecided(clause, decided),
    )


def _undecided(clause: str, decided: int) -> str:
    return "" if decided else f"this world no longer lets the check of {clause} decide"
