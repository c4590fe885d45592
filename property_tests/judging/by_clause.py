"""Judging whatever is judged clause by clause: what is common to all of it, as events.

Engines have a judgement of their own (``engine.py``). Stores, and agents of a dialect,
each say what they are judged by and how (``JudgedKind``); the header, the verdicts, the
summaries, the exit code and the order of all of it are here. The events are those of a
judgement of engines, so that every report reads them.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Literal, Protocol, TextIO, TypeAlias

from compat.report.conform_stream import JudgementStream
from compat.verdicts.conformance import (
    Breakdown,
    ClauseFailure,
    ClauseResult,
    EngineInfo,
    EngineSummary,
    Footer,
    Progress,
    StreamHeader,
    Verdict,
)
from compat.verdicts.exit_codes import DIFFERS, FAULT, NOTHING_RAN, STALE, exit_code
from compat.wire.scrubbing.scrubber import output_scrubber
from property_tests.judging.inputs import ClauseRequest, Emit, clause_infos
from property_tests.registry import Clause, Contract


@dataclass(frozen=True, slots=True)
class JudgedDoor:
    """What is judged, and what it says of itself; ``asked`` is the text that named it.

    ``profile`` is empty for what has none.
    """

    asked: str
    name: str
    version: str = ""
    profile: str = ""
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedWorlds:
    """The worlds of a judgement: so many, so many of them fixed, and their digest."""

    count: int
    fixed: int
    digest: str
    told: tuple[str, ...] = ()
    """What a reader has to know, such as that none was drawn."""


@dataclass(frozen=True, slots=True)
class JudgedClause:
    """What the worlds of a clause came to; ``broken`` is a fault of the harness."""

    worlds: int
    failing: int
    failure: ClauseFailure | None = None
    broken: str = ""
    reason: str = ""
    blocked: bool = False
    """Whether worlds were played that would let it decide, and none came so far."""

    @property
    def verdict(self) -> Verdict:
        """The verdict that it is."""
        if self.broken:
            return "error"
        if self.failure is not None:
            return "fail"
        return "blocked" if self.blocked else "pass"


Told: TypeAlias = Callable[[int, int, int], None]
"""Is told how far it has come: worlds done, of how many, and clauses that fail."""


@dataclass(frozen=True, slots=True)
class JudgedClauses:
    """What a door came to: its clauses, and whatever broke down on the way.

    So many worlds were ``refused``, because they need what it does not declare.
    """

    clauses: Mapping[str, JudgedClause]
    faults: tuple[Breakdown, ...] = ()
    refused: int = 0


class JudgedKind(Protocol):
    """A kind of what is judged: its contract, its doors, its worlds, and its verdicts.

    ``known`` is given all results of a door, and marks those that are listed as known
    failures; what it returns beside them are faults of the list.
    """

    subject: Literal["engine", "store"]
    contract: Contract
    doors: Sequence[JudgedDoor]
    worlds: JudgedWorlds

    def judged(self, door: JudgedDoor, told: Told) -> JudgedClauses:
        """Return what each clause came to; one that is missing does not apply."""
        ...

    def missing(self, door: JudgedDoor, clause: str) -> str:
        """Return why a clause does not apply."""
        ...

    def known(
        self, door: JudgedDoor, results: Sequence[ClauseResult]
    ) -> tuple[Sequence[ClauseResult], Sequence[str]]:
        """Return the results with what is known marked, and faults of the list."""
        ...


class ClauseJudgement:
    """Doors of one kind on their way through the worlds of the clauses."""

    def __init__(
        self, kind: JudgedKind, request: ClauseRequest, command: str = ""
    ) -> None:
        self._kind = kind
        self._asked = request
        self._command = command

    def tell(self, emit: Emit, out: TextIO | None = None) -> Footer:
        """Judge, telling every event from header to footer; return the footer."""
        stream = JudgementStream(out)
        told = stream.telling(emit, output_scrubber().text)
        told(self._header())
        for info in clause_infos(self._kind.contract):
            told(info)
        codes = [code for each in self._kind.doors for code in self._one(each, told)]
        footer = stream.end(exit_code(*codes))
        emit(footer)
        return footer

    def _one(self, door: JudgedDoor, emit: Emit) -> Iterator[int]:
        """Judge one door, and yield the exit codes that it comes to."""
        name = door.name
        emit(
            EngineInfo(
                engine=name, profile=door.profile, capabilities=door.capabilities
            )
        )
        all_of_it = self._kind.judged(
            door,
            lambda done, of, failing: emit(
                Progress(engine=name, done=done, worlds=of, failing=failing)
            ),
        )
        judged = all_of_it.clauses
        found = [self._result(door, each, judged) for each in self._checked]
        results, faults = self._kind.known(door, found)
        for each in results:
            emit(each)
        broken = sorted({each.broken for each in judged.values() if each.broken})
        broke = [
            *all_of_it.faults,
            *(Breakdown(engine=name, whose="harness", text=each) for each in broken),
        ]
        for fault in broke:
            emit(fault)
        for why in faults:
            emit(Breakdown(engine=name, whose="known-failures", text=why))
        summary = self._summary(door, results, all_of_it.refused, broke=bool(broke))
        emit(summary)
        yield from [] if summary.conformant else [DIFFERS]
        yield from [FAULT] if broke else []
        stale = faults or any(each.known == "stale" for each in results)
        yield from [STALE] if stale else []
        yield from [] if any(each.worlds for each in results) else [NOTHING_RAN]

    @property
    def _checked(self) -> list[Clause]:
        return [each for each in self._asked.clauses if each.status == "checked"]

    def _result(
        self, door: JudgedDoor, clause: Clause, judged: Mapping[str, JudgedClause]
    ) -> ClauseResult:
        of = judged.get(clause.id)
        if of is None:
            return ClauseResult(
                engine=door.name,
                clause=clause.id,
                level=clause.level,
                verdict="not-applicable",
                reason=self._kind.missing(door, clause.id),
            )
        broken = f"it could not be judged: {of.broken}" if of.broken else ""
        return ClauseResult(
            engine=door.name,
            clause=clause.id,
            level=clause.level,
            verdict=of.verdict,
            worlds=of.worlds,
            failing=of.failing,
            reason=broken or of.reason,
            failure=of.failure,
        )

    def _summary(
        self,
        door: JudgedDoor,
        results: Sequence[ClauseResult],
        refused: int,
        *,
        broke: bool,
    ) -> EngineSummary:
        unknown = [each for each in results if each.known != "known"]
        counts: Counter[Verdict] = Counter(each.verdict for each in unknown)
        applicable = [each for each in results if each.verdict != "not-applicable"]
        bad = [
            each
            for each in applicable
            if each.verdict != "pass"
            and each.known != "known"
            and (each.level == "MUST" or self._asked.strict)
        ]
        ran = any(e.verdict == "pass" or e.known == "known" for e in results)
        return EngineSummary(
            engine=door.name,
            profile=door.profile,
            clauses=len(self._kind.contract.clauses),
            checked=len(results),
            verdicts=dict(counts),
            conformant=ran and not bad and not broke,
            known=sum(each.known == "known" for each in results),
            stale=sum(each.known == "stale" for each in results),
            expected=len(applicable),
            run=sum(bool(each.worlds) for each in applicable),
            never=tuple(e.clause for e in applicable if e.verdict == "blocked"),
            refused=refused,
        )

    def _header(self) -> StreamHeader:
        kind, doors = self._kind, self._kind.doors
        return StreamHeader(
            subject=kind.subject,
            contract=kind.contract.version,
            corpus=kind.worlds.digest,
            seed=self._asked.seed,
            worlds=kind.worlds.count,
            fixed=kind.worlds.fixed,
            told=kind.worlds.told,
            engines=tuple(each.name for each in doors),
            selected=tuple(each.id for each in self._asked.clauses),
            excluded=dict(self._asked.excluded),
            versions={each.name: each.version for each in doors if each.version},
            tool=f"refengine {version('refengine')}",
            python=platform.python_version(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=self._command,
        )
