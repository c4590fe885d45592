"""A judgement as one HTML page that needs nothing beside it.

A matrix of clauses by engines; each cell leads to why its verdict is what it is. The
page loads nothing and works without scripts: its few lines of JavaScript open a clause
for browsers that do not by themselves, and its policy allows no other.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from compat.report.conform_failure import FailureText, failure_texts
from compat.report.conform_gathered import (
    COLUMNS,
    FAILING,
    LEVELS,
    EngineReport,
    JudgementReport,
    checked_text,
    counts,
    excluded_text,
    groups,
    known_text,
    notes,
    summary_text,
    worlds_text,
)
from compat.report.conform_text import brief, counted, plain, plain_lines, without_paths
from compat.report.pages import page
from compat.verdicts.conformance import (
    Breakdown,
    ClauseInfo,
    ClauseResult,
    SmokeResult,
    Verdict,
)

LONGEST: Final = 4000
"""So many characters of one value stand in the page; the JSON report has all."""

LETTERS: Final[Mapping[Verdict, str]] = MappingProxyType(
    {"pass": "✓", "fail": "F", "not-applicable": "n/a", "blocked": "B", "error": "E"}
)
KNOWN: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {"known": ("K", "known failure"), "stale": ("S", "stale: no longer fails")}
)
SCRIPT: Final = """
addEventListener("hashchange", () => {
  const at = document.getElementById(location.hash.slice(1));
  const clause = at && at.closest("details.clause");
  if (clause && !clause.open) { clause.open = true; at.scrollIntoView(); }
});
"""
"""Opens the clause that was followed to; all it reads is the address."""


Link: TypeAlias = "tuple[str, str]"
"""A clause, and the place of the page to look at."""


@dataclass(frozen=True, slots=True)
class EngineColumn:
    """One engine: its verdict and what that rests on, in plain texts."""

    name: str
    profile: str
    version: str
    conformant: bool
    judged: str
    levels: tuple[tuple[str, tuple[int, ...]], ...]
    notes: tuple[str, ...]
    troubles: tuple[str, ...]
    causes: tuple[tuple[Link, str, tuple[Link, ...]], ...]
    """What many clauses likely fail for: the first, where, and those behind it."""
    failing: tuple[Link, ...]
    """The other clauses that are not kept."""


def page_text(judgement: JudgementReport) -> str:
    """Return the text of the page."""
    digest = hashlib.sha256(SCRIPT.encode()).digest()
    return page(
        "conform",
        script=SCRIPT,
        script_hash=base64.b64encode(digest).decode(),
        verdicts=COLUMNS,
        facts=tuple(_facts(judgement)),
        notes=tuple(map(plain, judgement.header.told)),
        columns=tuple(_columns(judgement)),
        families=tuple(families(judgement)),
        unjudged=tuple(_unjudged(judgement)),
        digest=judgement.footer.digest,
    )


def _facts(judgement: JudgementReport) -> Iterator[tuple[str, str]]:
    """Yield what was judged: names and values for the head of the page."""
    header = judgement.header
    whole = counted(len(judgement.clauses), "clause")
    yield "contract", plain(f"{header.contract}, {whole}")
    yield "checked", checked_text(judgement).removesuffix(" checked")
    if excluded := excluded_text(header):
        yield "excluded", excluded
    yield "worlds", f"{header.worlds:,}: {worlds_text(header)}"
    yield "corpus", plain(header.corpus[:12])
    yield "digest", plain(judgement.footer.digest[:12])
    tool, python = plain(header.tool), plain(header.python)
    yield from (
        (name, each) for name, each in (("by", tool), ("python", python)) if each
    )
    if header.started:
        yield "started", plain(header.started)


def _columns(judgement: JudgementReport) -> Iterator[EngineColumn]:
    for at, report in enumerate(judgement.engines, 1):
        summary, found = report.summary, groups(report)
        yield EngineColumn(
            name=plain(report.info.engine),
            profile=plain(report.info.profile),
            version=plain(judgement.header.versions.get(report.info.engine, "")),
            conformant=summary.conformant,
            judged=summary_text(summary),
            levels=tuple(_levels(report)),
            notes=tuple(_sentence(each) for each in notes(report)),
            troubles=tuple(_troubles(report)),
            causes=tuple(
                (_link(e.first, at), e.sign, tuple(_link(b, at) for b in e.behind))
                for e in found
                if e.behind
            ),
            failing=tuple(_link(e.first, at) for e in found if not e.behind),
        )


def _link(result: ClauseResult, at: int) -> Link:
    return result.clause, anchor_of(result.clause, at)


def _sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:]}."


def _levels(report: EngineReport) -> Iterator[tuple[str, tuple[int, ...]]]:
    for level in LEVELS:
        found = counts(report.results, level)
        yield level, tuple(found[each] for each in COLUMNS)


def _troubles(report: EngineReport) -> Iterator[str]:
    yield from (_door(each) for each in report.broken)
    yield from (_broke_down(each) for each in report.faults)


def _door(smoke: SmokeResult) -> str:
    got = f"; got {brief(smoke.got, 400)}" if smoke.got else ""
    return plain(f"The door is wrong: {smoke.asked}{got}")


def _broke_down(fault: Breakdown) -> str:
    return "\n".join([f"{fault.headline.capitalize()}:", *plain_lines(fault.text)])


def _unjudged(judgement: JudgementReport) -> Iterator[tuple[ClauseInfo, str, str]]:
    for each in judgement.clauses:
        if each.status != "checked":
            yield each, plain(each.sentence), plain(without_paths(each.why))


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
    return "; ".join(each for each in (result.reason, known_text(result)) if each)


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
