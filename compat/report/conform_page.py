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
from typing import Final

from compat.report.conform_failure import FailureText, failure_texts
from compat.report.conform_gathered import (
    COLUMNS,
    FAILING,
    LEVELS,
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
from compat.report.conform_text import brief, counted, plain_lines, without_paths
from compat.report.glossary import PageWords
from compat.report.pages import page
from compat.report.plain_text import plain
from compat.verdicts.conformance import (
    ClauseInfo,
    ClauseResult,
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


def page_text(judgement: JudgementReport) -> str:
    """Return the text of the page."""
    digest = hashlib.sha256(SCRIPT.encode()).digest()
    return page(
        "conform",
        script=SCRIPT,
        words=PageWords(),
        script_hash=base64.b64encode(digest).decode(),
        verdicts=COLUMNS,
        levels=LEVELS,
        judgement=judgement,
        facts=tuple(_facts(judgement)),
        families=tuple(families(judgement)),
        unjudged=[e for e in judgement.clauses if e.status != "checked"],
        failing=FAILING,
        counts=counts,
        groups=groups,
        notes=notes,
        plain=plain,
        plain_lines=plain_lines,
        brief=brief,
        summary_text=summary_text,
        without_paths=without_paths,
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


@dataclass(frozen=True, slots=True)
class ClauseCell:
    """The verdict on one clause for one engine: a letter, a word and the details."""

    engine: str
    kind: str
    """The class of its colours: a verdict, or one of known, stale, soft, thin, none."""
    letter: str
    word: str
    reason: str = ""
    blocker: str = ""
    """The clause that likely blocks it."""
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
        _cell(plain(report.info.engine), mine.get(clause.id))
        for report, mine in zip(judgement.engines, results, strict=True)
    )
    return ClauseRow(clause, plain(clause.sentence), tuple(cells))


def _cell(engine: str, result: ClauseResult | None) -> ClauseCell:
    if result is None:
        return ClauseCell(engine, "none", "·", "not judged")
    kind, letter, word = _look(result)
    return ClauseCell(
        engine=engine,
        kind=kind,
        letter=letter,
        word=word,
        reason=brief(_reason(result), LONGEST),
        blocker=plain(result.blocked_by),
        worlds=_worlds(result),
        failure=failure_texts(result.failure, LONGEST) if result.failure else None,
    )


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
