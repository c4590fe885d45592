"""Judging stores: each clause in its worlds, and what that comes to, as events.

Clauses are shared among workers; each has processes of its own. The events are those of
a judgement of engines, so that every report reads them.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Final, TextIO

from compat.process import ChildError
from compat.report.conform_stream import JudgementStream
from compat.verdicts.conformance import (
    AnyEvent,
    Breakdown,
    ClauseFailure,
    ClauseResult,
    EngineInfo,
    EngineSummary,
    Footer,
    Progress,
    SeenLine,
    StreamHeader,
    Verdict,
)
from compat.verdicts.exit_codes import DIFFERS, FAULT, NOTHING_RAN, exit_code
from property_tests.defaults import EXAMPLES
from property_tests.judging.engine_workers import UnusableEngineError
from property_tests.judging.inputs import Emit, clause_infos
from property_tests.registry import Clause
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
class StoreRequest:
    """What a judgement of stores is asked for; like a ``ConformRequest``.

    ``examples`` worlds are drawn beside the fixed ones, each clause having its share.
    """

    stores: tuple[str, ...]
    clauses: tuple[Clause, ...]
    examples: int = EXAMPLES
    seed: int = 0
    timeout: float = 30.0
    jobs: int = 0
    strict: bool = False
    excluded: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def share(self) -> int:
        """So many worlds are drawn for each clause, whichever are selected."""
        return -(-self.examples // len(store_contract().clauses))

    @property
    def workers(self) -> int:
        """So many clauses at a time, one a core unless it was said."""
        return self.jobs or min(os.cpu_count() or 1, 8)


@dataclass(frozen=True, slots=True)
class JudgedClause:
    """What the worlds of a clause came to."""

    worlds: int
    failing: int
    failure: ClauseFailure | None = None
    broken: str = ""
    reason: str = ""


class StoreJudgement:
    """Stores on their way through the worlds of the clauses."""

    def __init__(self, request: StoreRequest, command: str = "") -> None:
        self._asked = request
        self._command = command
        chosen = {each.id for each in request.clauses}
        self._checks = [each for each in checks() if each.clause in chosen]
        self._worlds = {
            each.clause: each.worlds(request.share, request.seed)
            for each in self._checks
        }
        self._doors = {text: _door(text, request) for text in request.stores}

    def tell(self, emit: Emit, out: TextIO | None = None) -> Footer:
        """Judge, telling every event from header to footer; return the footer."""
        stream = JudgementStream(out)

        def told(event: AnyEvent) -> None:
            stream.take(event)
            emit(event)

        told(self._header())
        for info in clause_infos(store_contract()):
            told(info)
        codes = [each for text in self._asked.stores for each in self._one(text, told)]
        footer = stream.end(exit_code(*codes))
        emit(footer)
        return footer

    def _one(self, text: str, emit: Emit) -> list[int]:
        door = self._doors[text]
        name = str(door["name"])
        emit(EngineInfo(engine=name, profile="", capabilities=door["capabilities"]))
        applying = [
            each for each in self._checks if each.needs <= {*door["capabilities"]}
        ]
        judged = self._judged(text, name, applying, emit)
        results = list(self._results(name, judged))
        for each in results:
            emit(each)
        broken = {e.broken for e in judged.values() if e.broken}
        for why in sorted(broken):
            emit(Breakdown(engine=name, whose="harness", text=why))
        summary = self._summary(name, results)
        emit(summary)
        codes = [] if summary.conformant else [DIFFERS]
        codes += [FAULT] if broken else []
        return codes + ([] if any(each.worlds for each in results) else [NOTHING_RAN])

    def _judged(
        self, text: str, name: str, applying: Sequence[StoreCheck], emit: Emit
    ) -> Mapping[str, JudgedClause]:
        """Judge each clause, several at a time; tell how far it has come."""
        total = sum(len(self._worlds[each.clause]) for each in applying)
        done = failing = 0
        found: dict[str, JudgedClause] = {}
        with ThreadPoolExecutor(self._asked.workers) as workers:
            waiting: dict[Future[JudgedClause], str] = {
                workers.submit(self._clause, text, each): each.clause
                for each in sorted(applying, key=_longest_first)
            }
            for future in as_completed(waiting):
                clause = waiting[future]
                found[clause] = future.result()
                done += len(self._worlds[clause])
                failing += found[clause].failure is not None
                emit(Progress(engine=name, done=done, worlds=total, failing=failing))
        return found

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

    def _results(
        self, name: str, judged: Mapping[str, JudgedClause]
    ) -> Iterator[ClauseResult]:
        needs = {each.clause: each.needs for each in self._checks}
        base = [e for e in BASE if e in judged and judged[e].failure is not None]
        for each in self._asked.clauses:
            of = judged.get(each.id)
            yield ClauseResult(
                engine=name,
                clause=each.id,
                level=each.level,
                verdict=_verdict(of),
                worlds=of.worlds if of else 0,
                failing=of.failing if of else 0,
                reason=_reason(of, needs[each.id], [e for e in base if e < each.id]),
                failure=of.failure if of else None,
            )

    def _summary(self, name: str, results: Sequence[ClauseResult]) -> EngineSummary:
        counts: Counter[Verdict] = Counter(each.verdict for each in results)
        applicable = [each for each in results if each.verdict != "not-applicable"]
        bad = [
            each
            for each in applicable
            if each.verdict != "pass" and (each.level == "MUST" or self._asked.strict)
        ]
        return EngineSummary(
            engine=name,
            profile="",
            clauses=len(store_contract().clauses),
            checked=len(results),
            verdicts=dict(counts),
            conformant=counts["pass"] > 0 and not bad,
            expected=len(applicable),
            run=sum(bool(each.worlds) for each in applicable),
        )

    def _header(self) -> StreamHeader:
        worlds = [each for mine in self._worlds.values() for each in mine]
        doors = self._doors.values()
        return StreamHeader(
            subject="store",
            contract=store_contract().version,
            corpus=_digest(worlds),
            seed=self._asked.seed,
            worlds=len(worlds),
            fixed=sum(each.fixed for each in worlds),
            engines=tuple(str(each["name"]) for each in doors),
            selected=tuple(each.id for each in self._asked.clauses),
            excluded=dict(self._asked.excluded),
            versions={str(e["name"]): str(e["version"]) for e in doors if e["version"]},
            tool=f"refengine {version('refengine')}",
            python=platform.python_version(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=self._command,
        )


def _door(text: str, request: StoreRequest) -> Mapping[str, Any]:
    """Return what a store says of itself; raises UnusableEngineError."""
    try:
        with store_player(text, request.timeout) as player:
            return player.door()
    except CallError as error:
        raise UnusableEngineError(error.message) from error
    except ChildError as error:
        why = f"{text!r} cannot be loaded: the process {error.why}"
        raise UnusableEngineError(why) from error


def _longest_first(check: StoreCheck) -> int:
    """Return where a clause stands among those that are begun: with kills, first."""
    return -len(check.needs)


def _verdict(of: JudgedClause | None) -> Verdict:
    if of is None:
        return "not-applicable"
    if of.broken:
        return "error"
    return "pass" if of.failure is None else "fail"


def _reason(of: JudgedClause | None, needs: frozenset[str], base: Sequence[str]) -> str:
    if of is None:
        return f"the store does not declare {' and '.join(sorted(needs))}"
    if of.broken:
        return f"it could not be judged: {of.broken}"
    if of.failure is None or not base:
        return ""
    return f"see {base[0]} first, which it rests on"


def _digest(worlds: Sequence[StoreWorld]) -> str:
    text = json.dumps([[each.json for each in world.steps] for world in worlds])
    return hashlib.sha256(text.encode()).hexdigest()
