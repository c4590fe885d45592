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
from importlib.resources import files
from typing import Final

from compat.report.conform_gathered import (
    LEVELS,
    EngineReport,
    JudgementReport,
    counts,
    excluded_text,
)
from compat.report.conform_matrix import anchor_of, families
from compat.report.conform_text import brief, counted, plain, plain_lines, without_paths
from compat.verdicts.conformance import VERDICTS, Breakdown, ClauseInfo, SmokeResult

SCRIPT: Final = """
addEventListener("hashchange", () => {
  const at = document.getElementById(location.hash.slice(1));
  const clause = at && at.closest("details.clause");
  if (clause && !clause.open) { clause.open = true; at.scrollIntoView(); }
});
"""
"""Opens the clause that was followed to; all it reads is the address."""


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
    failing: tuple[tuple[str, str], ...]
    """Clauses that are not kept, each with the place to look at."""


def page_text(judgement: JudgementReport) -> str:
    """Return the text of the page."""
    # Imported here, since no other report has a use for it.
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  # as said above

    source = files("compat.report").joinpath("templates", "conform.html.j2")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.from_string(source.read_text("utf-8"))
    digest = hashlib.sha256(SCRIPT.encode()).digest()
    return template.render(
        script=SCRIPT,
        script_hash=base64.b64encode(digest).decode(),
        verdicts=VERDICTS,
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
    drawn = header.worlds - header.fixed
    yield "contract", plain(header.contract)
    yield "clauses", f"{len(header.selected):,} of {len(judgement.clauses):,} judged"
    if excluded := excluded_text(header):
        yield "excluded", excluded
    yield "worlds", f"{header.worlds:,}: {header.fixed:,} fixed, {drawn:,} generated"
    yield "seed", str(header.seed)
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
        summary = report.summary
        yield EngineColumn(
            name=plain(report.info.engine),
            profile=plain(report.info.profile),
            version=plain(judgement.header.versions.get(report.info.engine, "")),
            conformant=summary.conformant,
            judged=f"{summary.checked} of {counted(summary.clauses, 'clause')} judged",
            levels=tuple(_levels(report)),
            notes=tuple(_notes(report)),
            troubles=tuple(_troubles(report)),
            failing=tuple((e.clause, anchor_of(e.clause, at)) for e in report.failing),
        )


def _levels(report: EngineReport) -> Iterator[tuple[str, tuple[int, ...]]]:
    for level in LEVELS:
        found = counts(report.results, level)
        yield level, tuple(found[each] for each in VERDICTS)


def _notes(report: EngineReport) -> Iterator[str]:
    info, summary = report.info, report.summary
    never = f": {', '.join(summary.never)}" if summary.never else ""
    yield plain(
        f"Checks: {summary.expected} expected, {summary.run} run,"
        f" {len(summary.never)} never reached{never}."
    )
    if summary.refused:
        worlds = counted(summary.refused, "world")
        yield f"{worlds} not played: a capability needed there is not declared."
    if summary.known:
        yield f"{counted(summary.known, 'known failure')}."
    if info.absent:
        yield plain(f"Declared, but not found by a probe: {', '.join(info.absent)}.")
    if info.undeclared:
        yield plain(
            f"Found by a probe, but not declared: {', '.join(info.undeclared)}."
        )


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
