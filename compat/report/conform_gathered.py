"""A judgement gathered from its events, and what every report says of it.

A count that two reports work out by themselves differs some day. So counts, what was
left out, and what likely goes together are worked out here, and reports only set them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Final, TypeVar

from compat.report.conform_text import cleaned, counted, does
from compat.report.plain_text import plain
from compat.verdicts.conformance import (
    THIN,
    VERDICTS,
    AnyEvent,
    Breakdown,
    ClauseInfo,
    ClauseResult,
    EngineInfo,
    EngineSummary,
    Event,
    Footer,
    Level,
    SmokeResult,
    StreamHeader,
    Verdict,
)

FAILING: Final[frozenset[Verdict]] = frozenset(("fail", "blocked", "error"))
LEVELS: Final[tuple[Level, ...]] = ("MUST", "SHOULD", "MAY")
COLUMNS: Final[tuple[str, ...]] = (*VERDICTS, "known")
"""What a clause that is judged counts as: one of these, so they come to all."""
GUESS: Final = (
    "likely causes (a guess: the smallest worlds of these failures begin to differ from"
    " the reference engine's in the same way)"
)


Kind = TypeVar("Kind", bound=Event)


@dataclass(frozen=True, slots=True)
class EngineReport:
    """All that was said of one engine."""

    info: EngineInfo
    summary: EngineSummary
    smokes: tuple[SmokeResult, ...] = ()
    results: tuple[ClauseResult, ...] = ()
    faults: tuple[Breakdown, ...] = ()

    @property
    def broken(self) -> tuple[SmokeResult, ...]:
        """The checks of the first stage that failed: the door is wrong."""
        return tuple(each for each in self.smokes if not each.passed)

    @property
    def failing(self) -> tuple[ClauseResult, ...]:
        """The clauses that are not kept and not listed as known, MUST first."""
        found = [e for e in self.results if e.verdict in FAILING and e.known != "known"]
        return tuple(sorted(found, key=lambda each: LEVELS.index(each.level)))

    def listed(self, known: str) -> tuple[ClauseResult, ...]:
        """Return the clauses listed as known failures: ``known``, or ``stale`` ones."""
        return tuple(each for each in self.results if each.known == known)


@dataclass(frozen=True, slots=True)
class JudgementReport:
    """A whole judgement: header, the contract, the engines, footer."""

    header: StreamHeader
    clauses: tuple[ClauseInfo, ...]
    engines: tuple[EngineReport, ...]
    footer: Footer
    by_id: MappingProxyType[str, ClauseInfo] = field(init=False)
    """The clauses by their ids."""

    def __post_init__(self) -> None:
        by_id = MappingProxyType({each.id: each for each in self.clauses})
        object.__setattr__(self, "by_id", by_id)


def gather(events: Iterable[AnyEvent]) -> JudgementReport:
    """Return the judgement that these events, from header to footer, tell.

    Events of an engine belong to the last engine that was introduced, so the same
    engine can be judged twice, under two profiles.
    """
    found = [cleaned(each) for each in events]
    engines: list[EngineReport] = []
    starts = [at for at, each in enumerate(found) if isinstance(each, EngineInfo)]
    for start, end in pairwise([*starts, len(found)]):
        engines.append(engine_report(found[start:end]))
    [header], [footer] = _all(found, StreamHeader), _all(found, Footer)
    return JudgementReport(header, _all(found, ClauseInfo), tuple(engines), footer)


def engine_report(events: Sequence[Event]) -> EngineReport:
    """Return what the events of one engine tell, from EngineInfo to EngineSummary."""
    return EngineReport(
        info=_first(events, EngineInfo),
        summary=_first(events, EngineSummary),
        smokes=_all(events, SmokeResult),
        results=_all(events, ClauseResult),
        faults=_all(events, Breakdown),
    )


def _all(events: Sequence[Event], kind: type[Kind]) -> tuple[Kind, ...]:
    return tuple(each for each in events if isinstance(each, kind))


def _first(events: Sequence[Event], kind: type[Kind]) -> Kind:
    return _all(events, kind)[0]


def known_text(result: ClauseResult) -> str:
    """Return why a failure is known, and where that is told; empty if it is not."""
    issue = f" ({result.known_issue})" if result.known_issue else ""
    return f"{result.known_reason}{issue}"


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """A failing clause, and those that likely fail for the same cause."""

    first: ClauseResult
    sign: str = ""
    """Where all their worlds begin to differ; empty if it stands alone."""
    behind: tuple[ClauseResult, ...] = ()


def groups(report: EngineReport) -> tuple[FailureGroup, ...]:
    """Return what fails: the largest likely causes first, then what stands alone."""
    failing = {each.clause: each for each in report.failing}
    found: list[FailureGroup] = []
    for cause in report.summary.causes:
        first = failing.pop(cause.clause, None)
        behind = [failing.pop(each) for each in cause.behind if each in failing]
        if first is not None:
            found.append(FailureGroup(first, plain(cause.sign), tuple(behind)))
    return (*found, *map(FailureGroup, failing.values()))


def cause_text(group: FailureGroup) -> str:
    """Return a likely cause in a line: the clause, how many are behind it, where."""
    many = len(group.behind)
    return f"{group.first.clause} and {many} behind it: {group.sign}"


def counts(results: Iterable[ClauseResult], level: Level) -> Mapping[str, int]:
    """Return how many clauses of a level count as what; the keys are ``COLUMNS``."""
    mine = Counter(counts_as(each) for each in results if each.level == level)
    return {each: mine[each] for each in COLUMNS}


def counts_as(result: ClauseResult) -> str:
    """Return what a result counts as: its verdict, or that it is a known failure."""
    return "known" if result.known == "known" else result.verdict


def totals(summary: EngineSummary) -> Mapping[str, int]:
    """Return the same for all levels together."""
    return {
        **{each: summary.verdicts.get(each, 0) for each in VERDICTS},
        "known": summary.known,
    }


def checked_text(judgement: JudgementReport) -> str:
    """Return how many of the chosen clauses a check decides, for whoever they fit."""
    chosen = set(judgement.header.selected)
    found = sum(e.id in chosen and e.status == "checked" for e in judgement.clauses)
    return f"{found} of {counted(len(chosen), 'clause')} checked"


def summary_text(summary: EngineSummary) -> str:
    """Return how many clauses were judged, and what of them is listed as known.

    What does not apply to the engine was not judged.
    """
    absent = summary.verdicts.get("not-applicable", 0)
    of = counted(summary.clauses, "clause")
    judged = f"{summary.checked - absent} of {of} judged"
    apart = [f"{absent} not applicable"] if absent else []
    known = [counted(summary.known, "known failure")] if summary.known else []
    stale = [f"{summary.stale} stale"] if summary.stale else []
    return ", ".join([judged, *apart, *known, *stale])


def worlds_text(header: StreamHeader) -> str:
    """Return how many worlds there are, by where they come from."""
    drawn = header.worlds - header.fixed - header.recorded
    parts = [f"{header.fixed:,} fixed"]
    parts += [f"{header.recorded:,} recorded"] if header.recorded else []
    return ", ".join([*parts, f"{drawn:,} generated from seed {header.seed}"])


def excluded_text(header: StreamHeader) -> str:
    """Return what was taken out of the clauses that are judged; empty if nothing."""
    each = (f"{w} ({counted(n, 'clause')})" for w, n in header.excluded.items())
    return plain(", ".join(each))


def checks_text(summary: EngineSummary) -> str:
    """Return how many checks were to run, did, and never had anything to decide."""
    never = f": {', '.join(summary.never)}" if summary.never else ""
    return (
        f"checks: {summary.expected} expected, {summary.run} run,"
        f" {len(summary.never)} never reached{never}"
    )


def recorded_text(summary: EngineSummary) -> str:
    """Return how many clauses rest on recorded worlds; empty if none does."""
    if not summary.recorded:
        return ""
    found = f"{summary.recorded} of {counted(summary.run, 'clause')}"
    verb = does(summary.recorded, "rest")
    return f"recorded sessions: {found} {verb} on their worlds, too"


def thin_text(report: EngineReport) -> str:
    """Return which verdicts rest on few worlds; empty if none does."""
    found = [f"{e.clause} ({e.worlds})" for e in report.results if e.thin]
    if not found:
        return ""
    verb = does(len(found), "pass")
    what = f"{counted(len(found), 'clause')} {verb} in fewer than {THIN} worlds"
    return f"thin: {what}: {', '.join(found)}"


def notes(report: EngineReport) -> Iterator[str]:
    """Yield what the verdict on an engine rests on, a line each."""
    summary, info = report.summary, report.info
    if info.absent:
        absent = ", ".join(info.absent)
        yield plain(f"declared, but its probe found nothing: {absent}")
    if info.undeclared:
        undeclared = ", ".join(info.undeclared)
        yield plain(f"found by its probe, but not declared: {undeclared}")
    yield checks_text(summary)
    if recorded := recorded_text(summary):
        yield recorded
    if summary.refused:
        worlds = counted(summary.refused, "world")
        yield f"{worlds} not played: a capability needed there is not declared"
    if thin := thin_text(report):
        yield thin
