"""A judgement in Markdown, for the summary page of a CI job."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from compat.report.conform_failure import failure_texts
from compat.report.conform_gathered import EngineReport, JudgementReport
from compat.report.conform_says import (
    COLUMNS,
    GUESS,
    FailureGroup,
    cause_text,
    checked_text,
    excluded_text,
    groups,
    thin_text,
    totals,
    worlds_text,
)
from compat.report.conform_text import brief, counted, escaped, plain
from compat.verdicts.conformance import ClauseInfo, ClauseResult

SHOWN: Final = 50
"""So many failing clauses of an engine are shown; a summary page has a limit."""


def markdown_text(judgement: JudgementReport) -> str:
    """Return the page: a table of engines by verdicts, then what fails and why."""
    return "\n".join(_lines(judgement)) + "\n"


def _lines(judgement: JudgementReport) -> Iterator[str]:
    header = judgement.header
    yield "## Conformance"
    yield ""
    yield (
        f"{checked_text(judgement)}, contract"
        f" {_safe(header.contract)}, {counted(header.worlds, 'world')}"
        f" ({worlds_text(header)}),"
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
    more = ["stale", "thin", "never reached", "on recorded worlds"]
    columns = ["engine", "profile", "verdict", *COLUMNS, *more]
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * 3}{'--:|' * (len(columns) - 3)}"
    for report in reports:
        summary = report.summary
        word = "conformant" if summary.conformant else "**NOT CONFORMANT**"
        numbers = [*totals(summary).values()]
        cells = [_safe(summary.engine), _safe(summary.profile), word]
        numbers += [summary.stale, len(summary.thin), len(summary.never)]
        numbers += [summary.recorded]
        yield f"| {' | '.join([*cells, *map(str, numbers)])} |"


def _engine(report: EngineReport, judgement: JudgementReport) -> Iterator[str]:
    stale, thin = report.listed("stale"), thin_text(report)
    if not (report.broken or report.faults or report.failing or stale or thin):
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
    if thin:
        yield f"- {_safe(thin)}"
    yield from _failing(groups(report), judgement.by_id)


def _failing(
    found: Sequence[FailureGroup], clauses: Mapping[str, ClauseInfo]
) -> Iterator[str]:
    """Yield what fails; what is likely behind a clause stands under it, shortly."""
    causes = [each for each in found if each.behind]
    if causes:
        yield f"- {GUESS[0].upper()}{GUESS[1:]}:"
        yield from (f"  - {_safe(cause_text(each))}" for each in causes)
    for each in found[:SHOWN]:
        yield from _result(each.first, clauses[each.first.clause].sentence)
        if each.behind:
            behind = (f"{e.clause} {e.level}, {e.verdict}" for e in each.behind)
            yield f"  - likely behind it: {'; '.join(behind)}"
    left = sum(1 + len(each.behind) for each in found[SHOWN:])
    if left:
        yield f"- and {counted(left, 'clause')} more"


def _result(result: ClauseResult, sentence: str) -> Iterator[str]:
    what = f"**{result.clause}** {result.level}, {result.verdict}"
    yield f"- {what}: {_safe(sentence)}"
    if result.reason:
        yield f"  - because {_safe(brief(result.reason, 400))}"
    if result.blocked_by:
        yield f"  - blocked by: likely {result.blocked_by}"
    if result.failure is None:
        return
    found = failure_texts(result.failure)
    yield f"  - asked: {_safe(found.asked_where)}"
    yield f"  - expected {_code(found.expected)}, got {_code(found.got)}"
    if found.differs:
        yield f"  - differs {_code(found.differs)}"
    if found.reproduce:
        yield f"  - again: {_code(found.reproduce)}"


def _safe(text: str) -> str:
    """Return a text that is only itself in Markdown."""
    return html.escape(escaped(plain(text)), quote=False)


def _code(text: str) -> str:
    """Return a text in a code span, whose fence is longer than any in the text."""
    shown = plain(text)
    longest = max((len(each) for each in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else "(nothing)"
