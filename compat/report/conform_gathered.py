"""The events of a judgement, gathered by engine, for all reports but the live one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeVar

from compat.report.conform_text import cleaned
from compat.verdicts.conformance import (
    AnyEvent,
    Breakdown,
    ClauseInfo,
    ClauseResult,
    EngineInfo,
    EngineSummary,
    Event,
    Footer,
    Level,
    Progress,
    SmokeResult,
    StreamHeader,
    Verdict,
)

FAILING: Final[frozenset[Verdict]] = frozenset(("fail", "blocked", "error"))
LEVELS: Final[tuple[Level, ...]] = ("MUST", "SHOULD", "MAY")


class IncompleteError(ValueError):
    """The events are not a whole judgement; says what is missing or does not belong."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"no whole judgement: {what}")


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
    """Return the judgement these events tell; raises IncompleteError.

    Events of an engine belong to the last engine that was introduced, so the same
    engine can be judged twice, under two profiles.
    """
    gathering = _Gathering()
    for each in events:
        gathering.take(cleaned(each))
    return gathering.done()


def engine_report(events: Sequence[Event]) -> EngineReport:
    """Return what the events of one engine tell, from EngineInfo to EngineSummary."""
    return EngineReport(
        info=_first(events, EngineInfo),
        summary=_first(events, EngineSummary),
        smokes=_all(events, SmokeResult),
        results=_all(events, ClauseResult),
        faults=_all(events, Breakdown),
    )


@dataclass(slots=True)
class _Gathering:
    """Puts each event where it belongs."""

    header: StreamHeader | None = None
    footer: Footer | None = None
    clauses: dict[str, ClauseInfo] = field(default_factory=dict[str, ClauseInfo])
    engines: list[EngineReport] = field(default_factory=list[EngineReport])
    open: list[Event] = field(default_factory=list[Event])

    def take(self, event: AnyEvent) -> None:
        if (self.header is None) != isinstance(event, StreamHeader):
            raise IncompleteError("it begins with its header, and has only one")
        if self.footer is not None:
            raise IncompleteError(f"a {event.event} stands after the footer")
        if isinstance(event, StreamHeader):
            self.header = event
        elif isinstance(event, Footer):
            self.footer = event
        elif isinstance(event, ClauseInfo):
            self.clauses[event.id] = event
        elif not isinstance(event, Progress):
            self._of_engine(event)

    def _of_engine(
        self,
        event: EngineInfo | SmokeResult | ClauseResult | Breakdown | EngineSummary,
    ) -> None:
        if isinstance(event, EngineInfo) == bool(self.open):
            whose = f"{event.event} of {event.engine}"
            raise IncompleteError(f"the {whose} stands outside an engine's events")
        if self.open and event.engine != _first(self.open, EngineInfo).engine:
            raise IncompleteError(f"{event.engine} speaks among another's events")
        if isinstance(event, ClauseResult) and event.clause not in self.clauses:
            raise IncompleteError(f"{event.clause} is not a clause of the contract")
        self.open.append(event)
        if isinstance(event, EngineSummary):
            self.engines.append(engine_report(self.open))
            self.open = []

    def done(self) -> JudgementReport:
        if self.header is None or self.footer is None:
            raise IncompleteError("it has no footer, so it was cut off")
        if self.open:
            name = _first(self.open, EngineInfo).engine
            raise IncompleteError(f"{name} has no summary")
        clauses = tuple(self.clauses.values())
        return JudgementReport(self.header, clauses, tuple(self.engines), self.footer)


def _all(events: Sequence[Event], kind: type[Kind]) -> tuple[Kind, ...]:
    return tuple(each for each in events if isinstance(each, kind))


def _first(events: Sequence[Event], kind: type[Kind]) -> Kind:
    return _all(events, kind)[0]
