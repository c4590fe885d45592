"""A judgement in Markdown, for the summary page of a CI job."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Final

from compat.report.conform_failure import failure_texts
from compat.report.conform_gathered import EngineReport, JudgementReport, excluded_text
from compat.report.conform_text import brief, counted, plain
from compat.verdicts.conformance import VERDICTS, ClauseResult

SHOWN: Final = 50
"""So many failing clauses of an engine are shown; a summary page has a limit."""

# All that could begin a link, a picture, a table cell, a mention or a reference.
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()#!|~@$]|:(?=/)|(?<=www)\.)")


def markdown_text(judgement: JudgementReport) -> str:
    """Return the page: a table of engines by verdicts, then what fails and why."""
    return "\n".join(_lines(judgement)) + "\n"


def _lines(judgement: JudgementReport) -> Iterator[str]:
    header = judgement.header
    yield "## Conformance"
    yield ""
    yield (
        f"{counted(len(header.selected), 'clause')} of contract"
        f" {_safe(header.contract)}, {counted(header.worlds, 'world')},"
        f" corpus {_code(header.corpus[:12])}, digest"
        f" {_code(judgement.footer.digest[:12])}"
    )
    excluded = excluded_text(header)
    notes = [*([f"excluded: {excluded}"] if excluded else []), *header.told]
    yield from ("", *(f"- {_safe(each)}" for each in notes), "")
    yield from _table(judgement.engines)
    for report in judgement.engines:
        yield from _engine(report, judgement)


def _table(reports: Sequence[EngineReport]) -> Iterator[str]:
    columns = ["engine", "profile", "verdict", *VERDICTS, "known", "never reached"]
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * 3}{'--:|' * (len(columns) - 3)}"
    for report in reports:
        summary = report.summary
        word = "conformant" if summary.conformant else "**NOT CONFORMANT**"
        numbers = [summary.verdicts.get(each, 0) for each in VERDICTS]
        cells = [_safe(summary.engine), _safe(summary.profile), word]
        numbers += [summary.known, len(summary.never)]
        yield f"| {' | '.join([*cells, *map(str, numbers)])} |"


def _engine(report: EngineReport, judgement: JudgementReport) -> Iterator[str]:
    stale = report.listed("stale")
    if not (report.broken or report.faults or report.failing or stale):
        return
    yield from ("", f"### {_safe(report.info.engine)}", "")
    for smoke in report.broken:
        got = f"; got {_code(brief(smoke.got))}" if smoke.got else ""
        yield f"- **The door is wrong**: {_safe(smoke.asked)}{got}"
    for fault in report.faults:
        said = fault.headline.capitalize()
        yield f"- **{said}**: {_code(brief(fault.text, 400))}"
    for each in stale:
        yield f"- **{each.clause}** is listed as a known failure, but no longer fails"
    for result in report.failing[:SHOWN]:
        yield from _result(result, judgement.by_id[result.clause].sentence)
    if len(report.failing) > SHOWN:
        yield f"- and {counted(len(report.failing) - SHOWN, 'clause')} more"


def _result(result: ClauseResult, sentence: str) -> Iterator[str]:
    what = f"**{result.clause}** {result.level}, {result.verdict}"
    yield f"- {what}: {_safe(sentence)}"
    if result.reason:
        yield f"  - because {_safe(brief(result.reason, 400))}"
    if result.failure is None:
        return
    found = failure_texts(result.failure)
    yield f"  - asked: {_safe(found.asked)}"
    yield f"  - expected {_code(found.expected)}, got {_code(found.got)}"
    if found.differs:
        yield f"  - differs {_code(found.differs)}"
    if found.reproduce:
        yield f"  - again: {_code(found.reproduce)}"


def _safe(text: str) -> str:
    """Return a text that is only itself in Markdown."""
    return html.escape(_SPECIAL.sub(r"\\\1", plain(text)), quote=False)


def _code(text: str) -> str:
    """Return a text in a code span, whose fence is longer than any in the text."""
    shown = plain(text)
    longest = max((len(each) for each in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else "(nothing)"
