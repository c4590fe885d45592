"""Checks of migrations for a CI: JUnit XML, Markdown, and annotations of lines.

Both are made of judged cases; a check of a pair is one case. In JUnit a folder of
cases is a test suite, and what is not met is a failure, or an error where there is no
verdict to speak of. Neither file has times, so equal verdicts are equal files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from types import MappingProxyType
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from compat.report.conform_for_ci import safe
from compat.report.conform_text import brief, counted
from compat.report.counterexample import code
from compat.report.divergence_sentence import sentence
from compat.report.migration import lines
from compat.report.migration_basis import basis_lines
from compat.report.migration_headline import holds_weakly, unnoticed_things
from compat.report.plain_text import plain
from compat.report.values import rows_beside
from compat.verdicts.migration import JudgedCase, Migration

NAME: Final = "refengine migrate check"
LONGEST: Final = 1000
"""So many characters of one message stand in the file."""
_PLACE: Final = re.compile(r"(?P<file>.+):(?P<line>\d+), in ")
_TAGS: Final[Mapping[str, str]] = MappingProxyType(
    {"failures": "failure", "errors": "error"}
)


def junit_text(cases: Sequence[JudgedCase]) -> str:
    """Return the text of the file."""
    root = Element("testsuites", name=NAME)
    for piece, some in groupby(sorted(cases, key=_piece), _piece):
        _suite(root, piece, [*some])
    for name in ("tests", *_TAGS):
        root.set(name, str(sum(int(each.get(name, "0")) for each in root)))
    indent(root)
    text: str = tostring(root, "unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _piece(case: JudgedCase) -> str:
    return case.piece


def _suite(root: Element, piece: str, cases: Sequence[JudgedCase]) -> None:
    suite = SubElement(root, "testsuite", name=plain(piece) or NAME)
    for case in cases:
        found = SubElement(
            suite, "testcase", classname=plain(piece) or NAME, name=plain(case.case)
        )
        if holds_weakly(case.verdict):
            properties = SubElement(found, "properties")
            weak = brief(unnoticed_things(case.verdict), LONGEST)
            SubElement(properties, "property", name="weakly", value=weak)
        if not case.met:
            no_verdict = case.verdict.fault is not None or case.verdict.noise
            tag = "error" if no_verdict else "failure"
            message = brief(headline(case), LONGEST)
            outcome = SubElement(found, tag, message=message, type=plain(case.got))
            outcome.text = "\n".join(["", *map(plain, _report(case.verdict))])
    suite.set("tests", str(len(cases)))
    for name, tag in _TAGS.items():
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))


def headline(case: JudgedCase) -> str:
    """Return in one sentence what came of a case."""
    verdict = case.verdict
    if verdict.fault is not None:
        return verdict.fault.text
    if verdict.divergence is not None and not verdict.sufficient:
        return sentence(verdict.divergence, verdict.world)
    return f"{case.got}, expected {case.expected}"


def annotation_lines(cases: Sequence[JudgedCase]) -> Iterator[str]:
    """Yield what makes GitHub show a case that is not met at the line of NEW.

    One whose line is not known is shown at its file, or by its name alone.
    """
    for case in cases:
        if case.met:
            continue
        at = place_of(case)
        where = f" file={_data(at[0], ':,')}" if at else ""
        where += f",line={at[1]}" if at and at[1] else ""
        name, text = plain(name_of(case)), plain(headline(case))
        yield f"::error{where}::{_data(name)}: {_data(text)}"


def place_of(case: JudgedCase) -> tuple[str, int | None] | None:
    """Return file and line of NEW that ran last before a divergence.

    Where the line is not known, it is NEW's file, if there is one.
    """
    found = case.verdict.divergence
    places = () if found is None else found.places
    lines = (_PLACE.match(text) for side, text in places if side == "new")
    at = next(filter(None, lines), None)
    if at is None:
        return (case.file, None) if case.file else None
    return (PurePath(case.file).parent / at["file"]).as_posix(), int(at["line"])


def _data(text: str, more: str = "") -> str:
    """Return a text as a command of GitHub's has it."""
    for each in f"%\r\n{more}":
        text = text.replace(each, f"%{ord(each):02X}")
    return text


def markdown_text(cases: Sequence[JudgedCase]) -> str:
    """Return the page: a table of cases, then the report on each that is not met."""
    return "\n".join(_page(cases)) + "\n"


def _page(cases: Sequence[JudgedCase]) -> Iterator[str]:
    met = sum(case.met for case in cases)
    yield f"## Migrations: {counted(len(cases), 'case')}, {met} met"
    yield from ("", "| | case | expected | got |", "|---|---|---|---|")
    for case in cases:
        weak = holds_weakly(case.verdict)
        told = f"{case.got}, weakly: {unnoticed_things(case.verdict)}"
        got = told if weak else case.got
        cells = (name_of(case), case.expected, got)
        sign = ("🟡" if weak else "✅") if case.met else "❌"
        yield f"| {sign} | {' | '.join(map(safe, cells))} |"
    for case in cases:
        basis = [f"- {safe(each)}" for each in basis_lines(case.verdict)]
        if not case.met:
            yield from ("", f"### {safe(name_of(case))}", "", safe(headline(case)))
        elif basis:
            yield from ("", f"### {safe(name_of(case))}")
        if basis:
            yield from ("", *basis)
        if not case.met:
            yield from _evidence(case.verdict)


def _evidence(verdict: Migration) -> Iterator[str]:
    """Yield what differs and where, and the rest of the report folded away."""
    found, world = verdict.divergence, verdict.world
    if found is not None and world is not None:
        around = [f"{mark} {text}" for mark, text in rows_beside(found.lines)]
        yield from _block("diff", around)
        yield from _block("python", code(world, found.called))
    yield from ("", "<details><summary>The whole report</summary>")
    yield from _block("text", _report(verdict))
    yield from ("", "</details>")


def _block(language: str, given: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """Yield a block of code, whose fence is longer than any in it."""
    shown = [*map(plain, given)]
    if shown:
        ticks = max(map(len, re.findall("`+", "\n".join(shown))), default=0)
        fence = "`" * max(3, ticks + 1)
        yield from ("", f"{fence}{language}", *shown, fence)


def _report(verdict: Migration) -> Iterator[str]:
    return (line.plain for line in lines(verdict))


def name_of(case: JudgedCase) -> str:
    """Return what a case is called: its piece and its own name."""
    return f"{case.piece}/{case.case}" if case.piece else case.case
