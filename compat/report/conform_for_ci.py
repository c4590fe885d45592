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
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from compat.report.conform_failure import FailureText, failure_texts
from compat.report.conform_gathered import (
    COLUMNS,
    GUESS,
    EngineReport,
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
from compat.report.conform_text import brief, counted, escaped, plain_lines
from compat.report.pages import filled
from compat.report.plain_text import plain
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
    header = judgement.header
    values: dict[str, object] = {
        "judgement": judgement,
        "header": header,
        "excluded": excluded_text(header),
        "columns": COLUMNS,
        "guess": GUESS,
        "shown": SHOWN,
        "text": safe,
        "code": _code,
        "brief": brief,
        "cause_text": cause_text,
        "checked_text": checked_text,
        "counted": counted,
        "failure_texts": failure_texts,
        "groups": groups,
        "thin_text": thin_text,
        "totals": totals,
        "worlds_text": worlds_text,
    }
    return filled("compat.report", "templates/conform.md.j2", values)


def safe(text: str) -> str:
    """Return a text that is only itself in Markdown."""
    return html.escape(escaped(plain(text)), quote=False)


def _code(text: str) -> str:
    """Return a text in a code span, whose fence is longer than any in the text."""
    shown = plain(text)
    longest = max((len(each) for each in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else "(nothing)"
