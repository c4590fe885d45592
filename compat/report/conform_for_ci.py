"""A judgement for a CI: JUnit XML, and Markdown for the summary page of a job.

JUnit has a test suite for each engine, a test case for each clause. A clause that is
not kept is a failure whatever its level, blocked ones too, since only a pass is a pass;
whether a job fails is told by the exit code, not by this file. A door that is wrong and
what broke down are test cases of their own, so that a suite with no verdicts is not a
green one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from compat.report.conform_failure import FailureText, failure_texts
from compat.report.conform_gathered import (
    COLUMNS,
    GUESS,
    EngineReport,
    FailureGroup,
    JudgementReport,
    cause_text,
    checked_text,
    excluded_text,
    groups,
    known_text,
    notes,
    summary_text,
    thin_text,
    totals,
    worlds_text,
)
from compat.report.conform_text import brief, counted, escaped, plain, plain_lines
from compat.verdicts.conformance import THIN, ClauseInfo, ClauseResult, StreamHeader

LONGEST: Final = 1000
"""So many characters of one value stand in the file."""
SHOWN: Final = 50
"""So many failing clauses of an engine are shown; a summary page has a limit."""


def junit_text(judgement: JudgementReport) -> str:
    """Return the text of the file; it has no times, so equal judgements are equal."""
    root = Element("testsuites", name="refengine conform")
    for report in judgement.engines:
        _suite(root, report, judgement)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(each.get(name, "0")) for each in root)))
    indent(root)
    text: str = tostring(root, "unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _suite(root: Element, report: EngineReport, judgement: JudgementReport) -> None:
    who = plain(f"{report.info.engine}.{report.info.profile}".rstrip("."))
    suite = SubElement(root, "testsuite", name=who)
    _properties(suite, report, judgement.header)
    first = {b.clause: g.first.clause for g in groups(report) for b in g.behind}
    for smoke in report.broken:
        case = _case(suite, f"{who}.door", smoke.name)
        found = _outcome(case, "failure", f"the door is wrong: {smoke.asked}", "door")
        found.text = brief(smoke.got, LONGEST)
    for fault in report.faults:
        case = _case(suite, f"{who}.fault", fault.headline)
        found = _outcome(case, "error", fault.headline, fault.whose)
        found.text = "\n".join(["", *plain_lines(fault.text)])
    for result in report.results:
        clause = judgement.by_id[result.clause]
        title = f"{result.clause} {result.level} {clause.sentence}"
        case = _case(suite, f"{who}.{clause.family}", title)
        _decided(case, result, clause, first.get(result.clause, ""))
    tags = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in tags.items():
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))


def _properties(suite: Element, report: EngineReport, header: StreamHeader) -> None:
    """Put into a suite what no case of it says: counts, causes, what it rests on."""
    said = {f"clauses {name}": str(n) for name, n in totals(report.summary).items()}
    said["judged"] = summary_text(report.summary)
    if excluded := excluded_text(header):
        said["excluded"] = excluded
    causes = [cause_text(each) for each in groups(report) if each.behind]
    said |= {f"likely cause {at}": each for at, each in enumerate(causes, 1)}
    said |= {f"note {at}": each for at, each in enumerate(notes(report), 1)}
    found = SubElement(suite, "properties")
    for name, value in said.items():
        SubElement(found, "property", name=name, value=plain(value))


def _case(suite: Element, of: str, name: str) -> Element:
    return SubElement(suite, "testcase", classname=of, name=plain(name))


def _decided(
    case: Element, result: ClauseResult, clause: ClauseInfo, behind: str
) -> None:
    """Put the outcome into a test case; one that passed has none.

    ``behind`` is the clause that it likely fails together with.
    """
    if result.known == "known":
        _outcome(case, "skipped", f"known failure: {known_text(result)}")
    elif result.known == "stale":
        text = "listed as a known failure, but no longer fails"
        _outcome(case, "failure", text, "stale")
    elif result.verdict == "not-applicable":
        _outcome(case, "skipped", f"not applicable: {result.reason}")
    elif result.verdict != "pass":
        tag = "error" if result.verdict == "error" else "failure"
        said = result.failure.asked if result.failure else result.reason
        found = _outcome(case, tag, said, f"{result.verdict} {result.level}")
        found.text = "\n".join(_text(result, clause, behind))
    elif result.thin:
        text = f"thin: it passes in {counted(result.worlds, 'world')}"
        SubElement(case, "system-out").text = f"{text}, fewer than {THIN}"


def _outcome(case: Element, tag: str, message: str, kind: str = "") -> Element:
    found = SubElement(case, tag, message=brief(message, LONGEST))
    if kind:
        found.set("type", kind)
    return found


def _text(result: ClauseResult, clause: ClauseInfo, behind: str) -> Iterator[str]:
    yield ""
    yield plain(clause.sentence)
    if result.reason:
        yield f"because   {brief(result.reason, LONGEST)}"
    if result.blocked_by:
        yield f"blocker   likely {result.blocked_by}"
    elif behind:
        yield f"behind    likely {behind}: their worlds begin to differ alike"
    if result.failure is not None:
        yield from _failure(failure_texts(result.failure, LONGEST))


def _failure(found: FailureText) -> Iterator[str]:
    yield from (f"{label:10}{text}" for label, text in found.rows)
    yield "observations around it, > decided:"
    yield from (f"  {each.mark} {each.text}" for each in found.around)
    if found.begins:
        yield f"begins    {found.begins}"
    yield f"{found.world_title}:"
    yield from (f"  {each}" for each in found.world)
    yield f"again     {found.reproduce}"


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
