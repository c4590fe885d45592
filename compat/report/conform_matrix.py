"""The matrix of a page: each clause by each engine, a letter and a word for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from compat.report.conform_failure import FailureText, failure_texts
from compat.report.conform_gathered import FAILING, JudgementReport
from compat.report.conform_text import brief, counted, plain
from compat.verdicts.conformance import ClauseInfo, ClauseResult, Verdict

LONGEST: Final = 4000
"""So many characters of one value stand in the page; the JSON report has all."""

LETTERS: Final[Mapping[Verdict, str]] = MappingProxyType(
    {"pass": "✓", "fail": "F", "not-applicable": "n/a", "blocked": "B", "error": "E"}
)
KNOWN: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {"known": ("K", "known failure"), "stale": ("S", "stale: no longer fails")}
)


@dataclass(frozen=True, slots=True)
class ClauseCell:
    """The verdict on one clause for one engine: a letter, a word and the details."""

    id: str
    engine: str
    kind: str
    """The class of its colours: a verdict, or one of known, stale, soft, thin, none."""
    letter: str
    word: str
    reason: str = ""
    blocker: tuple[str, str] | None = None
    """The clause that likely blocks it, and the place to look at."""
    worlds: str = ""
    failure: FailureText | None = None


@dataclass(frozen=True, slots=True)
class ClauseRow:
    """One clause, and its cell for each engine."""

    clause: ClauseInfo
    sentence: str
    cells: tuple[ClauseCell, ...]

    @property
    def failing(self) -> tuple[ClauseCell, ...]:
        """The cells that are not as they should be."""
        return tuple(e for e in self.cells if e.kind in {*FAILING, "soft", "stale"})


@dataclass(frozen=True, slots=True)
class ClauseFamily:
    """The clauses of a family, in their order."""

    name: str
    rows: tuple[ClauseRow, ...]

    @property
    def failing(self) -> int:
        """So many of them some engine does not keep."""
        return sum(bool(each.failing) for each in self.rows)

    @property
    def summary(self) -> str:
        """How many clauses it has, and how many of them are not kept by all."""
        text = counted(len(self.rows), "clause")
        return f"{text}, {self.failing} not kept by all" if self.failing else text


def families(judgement: JudgementReport) -> Iterator[ClauseFamily]:
    """Yield the selected clauses by families, in the order of the contract."""
    selected = set(judgement.header.selected)
    rows: dict[str, list[ClauseRow]] = {}
    results = [{e.clause: e for e in r.results} for r in judgement.engines]
    for clause in judgement.clauses:
        if clause.id in selected and clause.status == "checked":
            rows.setdefault(clause.family, []).append(_row(clause, judgement, results))
    yield from (ClauseFamily(plain(name), tuple(mine)) for name, mine in rows.items())


def _row(
    clause: ClauseInfo,
    judgement: JudgementReport,
    results: Sequence[Mapping[str, ClauseResult]],
) -> ClauseRow:
    cells = (
        _cell(at, clause.id, plain(report.info.engine), mine.get(clause.id))
        for at, (report, mine) in enumerate(
            zip(judgement.engines, results, strict=True), 1
        )
    )
    return ClauseRow(clause, plain(clause.sentence), tuple(cells))


def _cell(at: int, clause: str, engine: str, result: ClauseResult | None) -> ClauseCell:
    id_ = anchor_of(clause, at)
    if result is None:
        return ClauseCell(id_, engine, "none", "·", "not judged")
    kind, letter, word = _look(result)
    return ClauseCell(
        id=id_,
        engine=engine,
        kind=kind,
        letter=letter,
        word=word,
        reason=brief(_reason(result), LONGEST),
        blocker=_blocker(result, at),
        worlds=_worlds(result),
        failure=failure_texts(result.failure, LONGEST) if result.failure else None,
    )


def _blocker(result: ClauseResult, at: int) -> tuple[str, str] | None:
    found = plain(result.blocked_by)
    return (found, anchor_of(found, at)) if found else None


def _look(result: ClauseResult) -> tuple[str, str, str]:
    """Return class, letter and word of a verdict."""
    if result.known:
        return result.known, *KNOWN[result.known]
    if result.thin:
        return "thin", "✓?", "pass, thin"
    if result.verdict == "fail" and result.level != "MUST":
        return "soft", "f", "fail"
    return result.verdict, LETTERS[result.verdict], result.verdict.replace("-", " ")


def _reason(result: ClauseResult) -> str:
    issue = f" ({result.known_issue})" if result.known_issue else ""
    parts = (result.reason, f"{result.known_reason}{issue}")
    return "; ".join(each for each in parts if each)


def _worlds(result: ClauseResult) -> str:
    if not result.worlds:
        return ""
    worlds = counted(result.worlds, "world")
    if not result.failing:
        return f"decided in {worlds}"
    return f"fails in {result.failing:,} of {worlds} that decide"


def anchor_of(clause: str, at: int) -> str:
    """Return the id of a verdict in the page; names of engines need not be unique."""
    return f"{clause}-{at}"
