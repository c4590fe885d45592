"""Judging one engine: smoke, worlds, known failures, shrinking, verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from compat.report.conform_text import counted
from compat.verdicts.conformance import (
    THIN,
    VERDICTS,
    Breakdown,
    ClauseFailure,
    ClauseResult,
    EngineInfo,
    EngineSummary,
    LikelyCause,
    Progress,
    SmokeResult,
    Verdict,
)
from property_tests.blocking import blocker
from property_tests.corpus import CorpusWorld
from property_tests.failures import by_worker
from property_tests.judging.causes import likely_causes, with_blockers
from property_tests.judging.engine_workers import EngineWorkers, UnusableEngineError
from property_tests.judging.inputs import ConformRequest, CorpusFiles, Emit
from property_tests.judging.pool import EngineLostError, Reply
from property_tests.judging.tally import Tally
from property_tests.known.entries import KnownFailures
from property_tests.known.states import (
    KnownState,
    PinnedWorldError,
    applied,
    known_of,
    state_of,
)
from property_tests.registry import Clause

STEP: Final = 25
"""Progress is reported after so many worlds."""


@dataclass(frozen=True, slots=True)
class EngineJudged:
    """The verdicts on one engine, and what else has to be reported."""

    results: tuple[ClauseResult, ...]
    summary: EngineSummary
    broke_down: bool
    """Whether its door is wrong, or it, its door or the harness broke down."""


class EngineJudge:
    """Judges one engine; its state is that of this one judgement."""

    def __init__(
        self, text: str, request: ConformRequest, files: CorpusFiles, stack: ExitStack
    ) -> None:
        """Start its workers, which end with ``stack``, and let them load it."""
        self._asked = request
        self._clauses = [each for each in request.clauses if each.status == "checked"]
        self._workers = EngineWorkers(text, request, self._clauses, files, stack)
        self._faults: list[Breakdown] = []
        self._door_works = True

    @property
    def name(self) -> str:
        """What reports call it; raises UnusableEngineError."""
        return str(self.loaded["name"])

    @property
    def version(self) -> str:
        """The engine's own, "" if it tells none."""
        return str(self.loaded["version"])

    @property
    def loaded(self) -> Reply:
        """What the engine says of itself; raises UnusableEngineError."""
        return self._workers.loaded

    @cached_property
    def known(self) -> KnownFailures:
        """What is listed for it; raises KnownFailuresError or OSError."""
        return known_of(self.name, self._asked.known)

    def begin(self, worlds: int) -> None:
        """Let its workers judge so many worlds, from the first on.

        What becomes of it is seen when it is judged; until then, call ``go_on`` now and
        then. Raises UnusableEngineError.
        """
        self._workers.begin(worlds)

    def go_on(self) -> None:
        """Take what the workers have answered."""
        self._workers.go_on()

    def judge(
        self,
        worlds: Sequence[CorpusWorld],
        emit: Emit,
        unmatched: Sequence[str] = (),
    ) -> EngineJudged:
        """Judge it in these worlds, telling each event; raises UnusableEngineError.

        ``unmatched`` are reported beside it: known failures of nothing that is judged.
        """
        for text in unmatched:
            self._fault("known-failures", text)
        info = self._introduced(emit)
        tally = Tally()
        try:
            self._play(worlds, tally, emit)
        except EngineLostError as error:
            self._fault("engine", str(error))
            tally.given_up = True
        results = self._with_known(tuple(self._results(tally)))
        causes = likely_causes(results)
        results = tuple(with_blockers(results, causes))
        for each in results:
            emit(each)
        for fault in self._faults:
            emit(fault)
        summary = self._summary(info, results, causes, tally)
        emit(summary)
        return EngineJudged(results, summary, self._broke_down)

    def _with_known(
        self, results: tuple[ClauseResult, ...]
    ) -> tuple[ClauseResult, ...]:
        """Mark what is listed as a known failure; its pinned case alone decides."""
        judged = {each.clause for each in results}
        replay = by_worker(self._workers.pool)
        states: list[KnownState] = []
        for each in self.known.for_engine(self.name, self.version):
            if each.clause in judged:
                try:
                    states.append(state_of(each, replay))
                except (PinnedWorldError, EngineLostError) as error:
                    self._fault("known-failures", str(error))
        return applied(results, states)

    @property
    def _broke_down(self) -> bool:
        faults = (each.whose != "known-failures" for each in self._faults)
        return not self._door_works or any(faults)

    def trace(self, failure: ClauseFailure) -> list[str]:
        """Return every observation of the world of a failure, one line each."""
        return self._workers.trace(failure)

    def _introduced(self, emit: Emit) -> EngineInfo:
        """Say what the engine is, and whether its door works at all."""
        smoked = self._workers.smoked()
        info = EngineInfo(
            engine=self.name,
            profile=self.loaded["profile"],
            capabilities=tuple(self.loaded["capabilities"]),
            absent=tuple(smoked.get("absent", ())),
            undeclared=tuple(smoked.get("undeclared", ())),
        )
        emit(info)
        if "broken" in smoked:
            self._fault("door", f"the smoke did not end: {smoked['broken']}")
        for each in smoked.get("smoke", ()):
            result = SmokeResult.model_validate(each)
            emit(result)
            self._door_works = self._door_works and result.passed
        return info

    def _fault(self, whose: Any, text: str) -> None:  # noqa: ANN401  # a Literal of Fault
        self._faults.append(Breakdown(engine=self.name, whose=whose, text=text))

    def _play(self, worlds: Sequence[CorpusWorld], tally: Tally, emit: Emit) -> None:
        total = len(worlds)
        for done, (at, reply) in enumerate(self._workers.judged(worlds), 1):
            tally.add(at, reply, recorded=bool(worlds[at].recorded))
            if done % STEP == 0 or done == total:
                failing = len(tally.failing)
                emit(
                    Progress(engine=self.name, done=done, worlds=total, failing=failing)
                )
        if tally.broken:
            first = min(tally.broken)
            text = f"{counted(len(tally.broken), 'world')} broke off; world {first}: "
            self._fault("engine", text + tally.broken[first])

    def _results(self, tally: Tally) -> Iterator[ClauseResult]:
        applying = set(self.loaded["applying"])
        silent = [
            each.id
            for each in self._clauses
            if each.id in applying
            and not tally.decided[each.id]
            and each.id not in tally.errors
        ]
        meant = self._workers.meant(silent, tally.refused)
        failures, luck = self._shrunk(tally, meant)
        for each in self._clauses:
            verdict, reason = self._verdict(each, applying, meant, tally)
            worlds = tally.decided[each.id]
            yield ClauseResult(
                engine=self.name,
                clause=each.id,
                level=each.level,
                verdict=verdict,
                worlds=worlds,
                failing=len(tally.failing.get(each.id, ())),
                recorded=tally.recorded[each.id],
                reason=reason or luck.get(each.id, ""),
                blocked_by=blocker(meant.get(each.id, ()), tally.failing),
                thin=verdict == "pass" and worlds < THIN and self._asked.whole,
                failure=failures.get(each.id),
            )

    def _shrunk(
        self, tally: Tally, meant: Mapping[str, Sequence[int]]
    ) -> tuple[Mapping[str, ClauseFailure], Mapping[str, str]]:
        """Return each clause's smallest failure or stop, or why there is none."""
        found: dict[str, ClauseFailure] = {}
        lost: dict[str, str] = {}
        for each in (
            self._workers.failures(tally.failing),
            self._workers.stops(tally.survived(meant)),
        ):
            try:
                for clause, what in each:
                    if isinstance(what, str):
                        lost[clause] = what
                    else:
                        found[clause] = what
            except EngineLostError as error:
                self._fault("engine", str(error))
        return found, lost

    def _verdict(
        self,
        clause: Clause,
        applying: set[str],
        meant: Mapping[str, Sequence[int]],
        tally: Tally,
    ) -> tuple[Verdict, str]:
        if clause.id not in applying:
            return "not-applicable", "the engine does not declare what it needs"
        if clause.id in tally.failing:
            return "fail", ""
        if clause.id in tally.errors:
            world, text = tally.errors[clause.id]
            return "error", f"its check cannot read the trace of world {world}: {text}"
        if tally.decided[clause.id]:
            return "pass", ""
        if clause.id in meant:
            worlds = counted(len(meant[clause.id]), "world")
            ended = "was given up" if tally.given_up else "comes so far in none"
            return "blocked", f"{worlds} would let it decide, and this engine {ended}"
        return "not-applicable", self._meaningless(clause)

    def _meaningless(self, clause: Clause) -> str:
        postures = ", ".join(clause.postures) or "its postures"
        return f"it has no meaning here: the profile ({postures}) or capabilities"

    def _summary(
        self,
        info: EngineInfo,
        results: Sequence[ClauseResult],
        causes: tuple[LikelyCause, ...],
        tally: Tally,
    ) -> EngineSummary:
        counts = Counter(each.verdict for each in results if each.known != "known")
        applicable = [each for each in results if each.verdict != "not-applicable"]
        bad = [e for e in applicable if e.verdict != "pass" and e.known != "known"]
        wrong = [e for e in bad if e.level == "MUST" or self._asked.strict]
        ran = any(e.verdict == "pass" or e.known == "known" for e in results)
        return EngineSummary(
            engine=self.name,
            profile=info.profile,
            clauses=len(self._asked.clauses),
            checked=len(results),
            verdicts={each: counts[each] for each in VERDICTS},
            conformant=ran and not (wrong or info.absent or self._broke_down),
            known=sum(each.known == "known" for each in results),
            stale=sum(each.known == "stale" for each in results),
            thin=tuple(each.clause for each in results if each.thin),
            causes=causes,
            expected=len(applicable),
            run=sum(bool(each.worlds) for each in applicable),
            recorded=sum(bool(each.recorded) for each in applicable),
            never=tuple(e.clause for e in applicable if e.verdict == "blocked"),
            refused=len(tally.refused),
        )


def same_names(judges: Sequence[EngineJudge]) -> None:
    """Raise UnusableEngineError if two engines have one name, or one cannot be had."""
    names = [each.name for each in judges]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise UnusableEngineError(
                f"two of the engines are called {name!r}: a report could not tell them"
                " apart; name each once, or give them other names"
            )
