"""Judging stores: each clause in its worlds, as ``by_clause.py`` asks for it.

Clauses are shared among workers; each has processes of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from compat.process import ChildError
from compat.verdicts.conformance import ClauseFailure, ClauseResult, SeenLine
from property_tests.defaults import EXAMPLES
from property_tests.judging.by_clause import (
    ClauseJudgement,
    JudgedClause,
    JudgedClauses,
    JudgedDoor,
    JudgedWorlds,
    Told,
)
from property_tests.judging.engine_workers import UnusableEngineError
from property_tests.judging.inputs import ClauseRequest
from property_tests.registry import Contract
from property_tests.stores.calls import StoreWorld
from property_tests.stores.clauses import store_contract
from property_tests.stores.playing import PlayedCalls, StorePlayer, store_player
from property_tests.stores.shrinking import smallest
from property_tests.stores.worlds import StoreCheck, checks
from refengine.testing.child import CallError

NEAR: Final = 4
"""So many calls before the one that decided are shown with it."""
BASE: Final = ("STO-001",)
"""What every other clause stands on: records that come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest(ClauseRequest):
    """What a judgement of stores is asked for.

    ``examples`` worlds are drawn beside the fixed ones, each clause having its share;
    several clauses are judged at a time.
    """

    stores: tuple[str, ...]

    @property
    def share(self) -> int:
        """So many worlds are drawn for each clause, whichever are selected."""
        return -(-self.examples // len(store_contract().clauses))


def store_judgement(request: StoreRequest, command: str = "") -> ClauseJudgement:
    """Return stores on their way through the worlds of the clauses."""
    return ClauseJudgement(StoreKind(request), request, command)


class StoreKind:
    """Stores as a kind of what is judged: a ``JudgedKind``."""

    subject: Literal["engine", "store"] = "store"

    def __init__(self, request: StoreRequest) -> None:
        self._asked = request
        chosen = {each.id for each in request.clauses}
        self._checks = [each for each in checks() if each.clause in chosen]
        self._worlds = {
            each.clause: each.worlds(request.share, request.seed)
            for each in self._checks
        }
        self.contract: Contract = store_contract()
        self.doors: Sequence[JudgedDoor] = [
            _door(text, request) for text in request.stores
        ]
        worlds = [each for mine in self._worlds.values() for each in mine]
        fixed = sum(each.fixed for each in worlds)
        self.worlds = JudgedWorlds(len(worlds), fixed, _digest(worlds))

    def judged(self, door: JudgedDoor, told: Told) -> JudgedClauses:
        """Judge each clause, several at a time; tell how far it has come."""
        applying = [each for each in self._checks if each.needs <= {*door.capabilities}]
        total = sum(len(self._worlds[each.clause]) for each in applying)
        done = failing = 0
        found: dict[str, JudgedClause] = {}
        with ThreadPoolExecutor(self._asked.workers) as workers:
            waiting: dict[Future[JudgedClause], str] = {
                workers.submit(self._clause, door.asked, each): each.clause
                for each in sorted(applying, key=_longest_first)
            }
            for future in as_completed(waiting):
                clause = waiting[future]
                found[clause] = future.result()
                done += len(self._worlds[clause])
                failing += found[clause].failure is not None
                told(done, total, failing)
        return JudgedClauses(_resting_on_base(found))

    def missing(self, door: JudgedDoor, clause: str) -> str:
        """Return which capabilities the store does not declare."""
        del door
        [check] = [each for each in self._checks if each.clause == clause]
        return f"the store does not declare {' and '.join(sorted(check.needs))}"

    def known(
        self, door: JudgedDoor, results: Sequence[ClauseResult]
    ) -> tuple[Sequence[ClauseResult], Sequence[str]]:
        """Return the results as they are: no failure of a store is known."""
        del door
        return results, ()

    def _clause(self, text: str, check: StoreCheck) -> JudgedClause:
        try:
            with store_player(text, self._asked.timeout) as player:
                return self._in_worlds(text, check, player)
        except Exception as error:  # noqa: BLE001  # ours: no verdict rests on it
            return JudgedClause(0, 0, broken=f"{type(error).__name__}: {error}")

    def _in_worlds(
        self, text: str, check: StoreCheck, player: StorePlayer
    ) -> JudgedClause:
        failing: list[tuple[StoreWorld, PlayedCalls]] = []
        count = 0
        for world in self._worlds[check.clause]:
            count += 1
            played = player.play(world, check.ignored)
            if played.fault is not None:
                failing.append((world, played))
                if played.lost:  # each one may take all the time there is
                    break
        if not failing:
            return JudgedClause(count, 0)
        world, played = min(failing, key=lambda each: len(each[0].steps))
        if not played.lost:
            world, played = smallest(
                world, played, lambda each: player.play(each, check.ignored)
            )
        failure = self._failure(text, check.clause, played)
        return JudgedClause(count, len(failing), failure)

    def _failure(self, text: str, clause: str, played: PlayedCalls) -> ClauseFailure:
        fault = played.fault
        if fault is None:
            raise AssertionError(played)  # only a play with one comes here
        last = len(played.lines) - 1
        around = [
            SeenLine(mark=">" if at == last else " ", text=line)
            for at, line in enumerate(played.lines)
        ]
        return ClauseFailure(
            variant="played",
            asked=fault.asked,
            expected=fault.expected,
            got=fault.got,
            around=tuple(around[-NEAR:]),
            scenario={"calls": list(played.lines)},
            reproduce=self._again(text, clause),
        )

    def _again(self, text: str, clause: str) -> str:
        command = f"refengine conform --store {text} --clause {clause}"
        if self._asked.seed:
            command += f" --seed {self._asked.seed}"
        if self._asked.examples != EXAMPLES:  # other numbers draw other worlds
            command += f" --examples {self._asked.examples}"
        return command


def _door(text: str, request: StoreRequest) -> JudgedDoor:
    """Return what a store says of itself; raises UnusableEngineError."""
    try:
        with store_player(text, request.timeout) as player:
            said: Mapping[str, Any] = player.door()
    except CallError as error:
        raise UnusableEngineError(error.message) from error
    except ChildError as error:
        why = f"{text!r} cannot be loaded: the process {error.why}"
        raise UnusableEngineError(why) from error
    able = tuple(said["capabilities"])
    return JudgedDoor(text, str(said["name"]), str(said["version"] or ""), "", able)


def _longest_first(check: StoreCheck) -> int:
    """Return where a clause stands among those that are begun: with kills, first."""
    return -len(check.needs)


def _resting_on_base(found: Mapping[str, JudgedClause]) -> Mapping[str, JudgedClause]:
    """Say of clauses that fail which failing one they rest on."""
    base = [e for e in BASE if e in found and found[e].failure is not None]
    return {
        clause: replace(of, reason=f"see {base[0]} first, which it rests on")
        if of.failure is not None and [e for e in base if e < clause]
        else of
        for clause, of in found.items()
    }


def _digest(worlds: Sequence[StoreWorld]) -> str:
    text = json.dumps([[each.json for each in world.steps] for world in worlds])
    return hashlib.sha256(text.encode()).hexdigest()
