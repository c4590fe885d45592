"""A judgement as one HTML page that needs nothing beside it.

A matrix of clauses by engines; each cell leads to why its verdict is what it is. The
page loads nothing and works without scripts: its few lines of JavaScript open a clause
for browsers that do not by themselves, and its policy allows no other.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from compat.report.conform_gathered import LEVELS, EngineReport, JudgementReport
from compat.report.conform_matrix import anchor_of, families
from compat.report.conform_says import (
    COLUMNS,
    checked_text,
    counts,
    excluded_text,
    groups,
    notes,
    summary_text,
    worlds_text,
)
from compat.report.conform_text import brief, counted, plain, plain_lines, without_paths
from compat.report.pages import page
from compat.verdicts.conformance import Breakdown, ClauseInfo, ClauseResult, SmokeResult

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
