"""Judging one engine: smoke, worlds, known failures, shrinking, verdicts."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
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
from property_tests.defaults import EXAMPLES
from property_tests.failures import by_worker
from property_tests.judging.causes import likely_causes, with_blockers
from property_tests.judging.inputs import ConformRequest, CorpusFiles, Emit
from property_tests.judging.pool import LONG, EngineLostError, Pool, Reply
from property_tests.known.entries import KnownFailures
from property_tests.known.states import (
    KnownState,
    PinnedWorldError,
    applied,
    known_of,
    state_of,
)
from property_tests.registry import Clause

SMOKE: Final = 3
"""Smoke and probes are small worlds; all together get the time of so many."""
DOOR: Final = -1
"""The place of that among what workers are asked, before the first world."""
STEP: Final = 25
"""Progress is reported after so many worlds."""


class UnusableEngineError(Exception):
    """There is no such engine, or it cannot be made; its message is the user's."""


@dataclass(slots=True)
class Tally:
    """What the worlds of one engine came to, clause by clause."""

    decided: Counter[str] = field(default_factory=Counter[str])
    recorded: Counter[str] = field(default_factory=Counter[str])
    failing: dict[str, list[int]] = field(
        default_factory=lambda: defaultdict[str, list[int]](list)
    )
    errors: dict[str, tuple[int, str]] = field(
        default_factory=dict[str, tuple[int, str]]
    )
    refused: set[int] = field(default_factory=set[int])
    broken: dict[int, str] = field(default_factory=dict[int, str])

    def add(self, world: int, reply: Reply, *, recorded: bool = False) -> None:
        """Count what one world decided."""
        if "broken" in reply:
            self.broken[world] = str(reply["broken"])
            return
        if reply["refused"] is not None:
            self.refused.add(world)
            return
        self.decided.update(reply["decided"].keys())
        if recorded:
            self.recorded.update(reply["decided"].keys())
        for clause in reply["failed"]:
            self.failing[clause].append(world)
        for clause, text in reply["errors"].items():
            if clause not in self.errors or world < self.errors[clause][0]:
                self.errors[clause] = (world, text)


@dataclass(slots=True)
class BegunWorlds:
    """So many worlds that workers were given, what came of them, and whether it ended.

    ``lost`` is why an engine was given up meanwhile.
    """

    worlds: int = 0
    replies: list[tuple[int, Reply]] = field(default_factory=list[tuple[int, Reply]])
    lost: EngineLostError | None = None


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
        self.text = text
        self._asked = request
        self._worlds: Sequence[CorpusWorld] = ()
        self._begun = BegunWorlds()
        self._clauses = [each for each in request.clauses if each.status == "checked"]
        about = {
            "engine": text,
            "profile": request.profile,
            "first": str(files.first),
            "corpus": str(files.whole),
            "clauses": [each.id for each in self._clauses],
        }
        self._pool = stack.enter_context(Pool(about, request.workers, request.timeout))
        self._faults: list[Breakdown] = []
        self._door_works = True
        self._sizes: dict[int, int] = {}

    @cached_property
    def loaded(self) -> Reply:
        """What the engine says of itself; raises UnusableEngineError."""
        return _usable(self._pool.one({"op": "load"}))

    @property
    def name(self) -> str:
        """What reports call it."""
        return str(self.loaded["name"])

    @property
    def version(self) -> str:
        """The engine's own, "" if it tells none."""
        return str(self.loaded["version"])

    @cached_property
    def known(self) -> KnownFailures:
        """What is listed for it; raises KnownFailuresError or OSError."""
        return known_of(self.name, self._asked.known)

    def begin(self, worlds: int) -> None:
        """Let its workers look at the door and judge so many worlds, from the first on.

        What becomes of it is seen when it is judged; until then, call ``go_on`` now and
        then. Raises UnusableEngineError.
        """
        _ = self.loaded
        limit = SMOKE * self._asked.timeout
        self._begun = BegunWorlds(worlds)
        self._pool.send([{"op": "smoke"}], limit, DOOR)
        self._pool.send({"op": "judge", "world": at} for at in range(worlds))

    def go_on(self, patience: float = 0) -> None:
        """Take what workers have answered, and wait so many seconds for more of it."""
        if self._begun.lost is None:
            try:
                self._begun.replies.extend(self._pool.answers(patience))
            except EngineLostError as error:
                self._begun.lost = error

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
        self._worlds = worlds
        if not self._begun.worlds:
            self.begin(0)
        info = self._introduced(emit)
        tally = Tally()
        try:
            self._play(tally, emit)
        except EngineLostError as error:
            self._fault("engine", str(error))
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
        replay = by_worker(self._pool)
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
        request = {"scenario": failure.scenario, "variant": failure.variant}
        reply = self._pool.one({"op": "trace", **request})
        return list(reply.get("lines", [reply.get("broken", "")]))

    def _introduced(self, emit: Emit) -> EngineInfo:
        """Say what the engine is, and whether its door works at all."""
        smoked = self._smoked()
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

    def _smoked(self) -> Reply:
        """Return what was found at the door, and keep what came beside it."""
        begun = self._begun
        while True:
            for each in begun.replies:
                if each[0] == DOOR:
                    begun.replies.remove(each)
                    return each[1]
            if begun.lost is not None:
                return {"broken": str(begun.lost)}
            self.go_on(LONG)

    def _replies(self) -> Iterator[tuple[int, Reply]]:
        """Yield what each world decides; raises EngineLostError."""
        begun, total = self._begun, len(self._worlds)
        if begun.lost is None:
            rest = ({"op": "judge", "world": at} for at in range(begun.worlds, total))
            self._pool.send(rest, first=begun.worlds)
        yield from begun.replies
        if begun.lost is not None:
            raise begun.lost
        while self._pool.waits:
            yield from self._pool.answers()

    def _play(self, tally: Tally, emit: Emit) -> None:
        total = len(self._worlds)
        for done, (at, reply) in enumerate(self._replies(), 1):
            tally.add(at, reply, recorded=bool(self._worlds[at].recorded))
            if done % STEP == 0 or done == total:
                failing = len(tally.failing)
                emit(
                    Progress(engine=self.name, done=done, worlds=total, failing=failing)
                )
        if tally.broken:
            first = min(tally.broken)
            text = f"{len(tally.broken)} worlds broke off; world {first}: "
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
        meant = self._meant(silent, tally)
        failures, luck = self._failures(tally)
        failures = {**failures, **self._stops(meant)}
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
            why = f"{worlds} would let it decide, and this engine comes so far in none"
            return "blocked", why
        return "not-applicable", self._meaningless(clause)

    def _meaningless(self, clause: Clause) -> str:
        postures = ", ".join(clause.postures) or "its postures"
        return f"it has no meaning here: the profile ({postures}) or capabilities"

    def _meant(self, silent: Sequence[str], tally: Tally) -> Mapping[str, list[int]]:
        """Return in which worlds undecided clauses should have been decided.

        The reference engine is asked under the same profile, in the worlds that this
        engine did not refuse: where it lets a check decide, another engine has to.
        """
        if not silent:
            return {}
        found: dict[str, list[int]] = {}
        worlds = [at for at in range(len(self._worlds)) if at not in tally.refused]
        request = ({"op": "reference", "world": at, "clauses": silent} for at in worlds)
        for at, reply in self._pool.each(request, LONG):
            for clause in reply.get("decided", {}):
                found.setdefault(clause, []).append(worlds[at])
        return found

    def _stops(self, meant: Mapping[str, Sequence[int]]) -> dict[str, ClauseFailure]:
        """Return where the engine stops before each blocked clause can be decided."""
        clauses = sorted(meant)
        request = (
            {"op": "blocked", "clause": each, "world": self._smallest(meant[each])}
            for each in clauses
        )
        found: dict[str, ClauseFailure] = {}
        try:
            for at, reply in self._pool.each(request, LONG):
                if "failure" in reply:
                    found[clauses[at]] = self._reproducible(reply, clauses[at])
        except EngineLostError as error:
            self._fault("engine", str(error))
        return found

    def _failures(
        self, tally: Tally
    ) -> tuple[Mapping[str, ClauseFailure], Mapping[str, str]]:
        """Return each failing clause's smallest failure, or why there is none."""
        clauses = sorted(tally.failing)
        request = (
            {
                "op": "failure",
                "clause": each,
                "world": self._smallest(tally.failing[each]),
            }
            for each in clauses
        )
        found: dict[str, ClauseFailure] = {}
        lost: dict[str, str] = {}
        try:
            for at, reply in self._pool.each(request, LONG):
                if "failure" in reply:
                    found[clauses[at]] = self._reproducible(reply, clauses[at])
                else:
                    lost[clauses[at]] = str(reply.get("lost") or reply.get("broken"))
        except EngineLostError as error:
            self._fault("engine", str(error))
        return found, lost

    def _reproducible(self, reply: Reply, clause: str) -> ClauseFailure:
        failure = ClauseFailure.model_validate(reply["failure"])
        command = self._command(f"refengine conform {self.text} --clause {clause}")
        return failure.model_copy(update={"reproduce": command})

    def _command(self, command: str) -> str:
        request = self._asked
        options: dict[str, object] = {"profile": request.profile}
        options["seed"] = request.seed or None
        if request.examples != EXAMPLES:  # other numbers draw other worlds
            options["examples"] = request.examples
        for option, value in options.items():
            if value is not None:
                command += f" --{option} {value}"
        given = (f" --worlds {shlex.quote(str(each))}" for each in request.worlds)
        return command + "".join(given)

    def _smallest(self, worlds: Sequence[int]) -> int:
        """Return the world to start from: the least text, and of equals the first."""
        return min(worlds, key=lambda at: (self._size(at), at))

    def _size(self, at: int) -> int:
        """Return the length of a world's text; most fail several clauses."""
        if at not in self._sizes:
            scenario = self._worlds[at].scenario
            self._sizes[at] = len(scenario.model_dump_json())
        return self._sizes[at]

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


def _usable(reply: Reply) -> Reply:
    for why in ("usage", "broken"):
        if why in reply:
            raise UnusableEngineError(str(reply[why]))
    return reply
