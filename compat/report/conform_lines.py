"""What is said of an engine, line by line, for a person at a terminal or in a log."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from compat.report.conform_failure import FailureText, failure_texts, seen_lines
from compat.report.conform_gathered import LEVELS, EngineReport
from compat.report.conform_says import (
    COLUMNS,
    GUESS,
    FailureGroup,
    cause_text,
    counts,
    excluded_text,
    groups,
    notes,
    summary_text,
    worlds_text,
)
from compat.report.conform_text import brief, counted, plain, plain_lines
from compat.verdicts.conformance import (
    ClauseInfo,
    ClauseResult,
    EngineSummary,
    SeenLine,
    SmokeResult,
    StreamHeader,
)

DETAILED: Final = 12
"""So many clauses are shown with observations and world, the others without."""
WIDTH: Final = 80
STYLES: Final = {"fail": "red", "blocked": "red", "error": "magenta"}
DOUBTS: Final = ("declared", "found by", "thin")
"""Notes that begin so are for somebody to act on."""
_LABEL: Final = 10
"""What stands before a value: ``expected``, and two spaces."""


@dataclass(frozen=True, slots=True)
class Page:
    """How wide a line may be. Commands are never broken, so that they can be copied."""

    width: int = WIDTH

    def wrap(
        self, text: str, style: str = "", indent: str = "", hang: str | None = None
    ) -> Iterator[Text]:
        """Yield a text in lines, those after the first under ``hang``."""
        lines = textwrap.wrap(
            text,
            self.width,
            initial_indent=indent,
            subsequent_indent=indent if hang is None else hang,
            break_on_hyphens=False,
        )
        yield from (Text(each, style) for each in lines or [indent])

    def labelled(self, label: str, text: str, style: str = "") -> Iterator[Text]:
        """Yield a text with a label before it."""
        pad = " " * (_LABEL + 2)
        yield from self.wrap(text, style, f"  {label:{_LABEL}}", pad)


def header_lines(header: StreamHeader, page: Page) -> Iterator[Text]:
    """Yield what is judged, and of what."""
    engines = counted(len(header.engines), header.subject)
    clauses = counted(len(header.selected), "clause")
    worlds = f"{counted(header.worlds, 'world')} ({worlds_text(header)})"
    text = f"{engines}, {clauses} of contract {header.contract}, {worlds}, corpus"
    yield from page.wrap(plain(f"{text} {header.corpus[:12]}"))
    if header.versions:
        found = [f"{name} {at}" for name, at in header.versions.items()]
        yield from page.wrap(plain(f"versions: {', '.join(found)}"), hang="  ")
    if excluded := excluded_text(header):
        yield from page.wrap(f"excluded: {excluded}", "yellow", hang="  ")
    for each in header.told:
        yield from page.wrap(plain(f"note: {each}"), "yellow", hang="  ")


def engine_lines(
    report: EngineReport, clauses: dict[str, ClauseInfo], page: Page
) -> Iterator[Text]:
    """Yield all that is said of an engine, its verdict last."""
    yield Text()
    yield Text(f"== {name_of(report)}", "bold")
    for smoke in report.broken:
        yield from _smoke(smoke, page)
    for fault in report.faults:
        yield Text(f"{fault.headline.upper()}:", "bold magenta")
        for each in plain_lines(fault.text):
            yield from page.wrap(each, "magenta", "  ", "    ")
    yield from _failing(groups(report), clauses, page)
    yield from _listed(report, page)
    yield from _rests_on(report, page)
    yield from verdict_lines(report)


def name_of(report: EngineReport) -> str:
    """Return engine and profile."""
    return named(report.info.engine, report.info.profile)


def named(engine: str, profile: str) -> str:
    """Return engine and profile; a store has none."""
    return plain(f"{engine}, profile {profile}" if profile else engine)


def verdict_lines(report: EngineReport) -> Iterator[Text]:
    """Yield the verdict and a table of the verdicts on clauses by level."""
    yield Text()
    yield verdict_line(report.summary)
    yield Text("".join([f"  {'':8}", *(f"  {each}" for each in COLUMNS)]), "dim")
    for level in LEVELS:
        found = counts(report.results, level)
        cells = "".join(f"  {found[each]:>{len(each)}}" for each in COLUMNS)
        yield Text(f"  {level:8}{cells}")


def verdict_line(summary: EngineSummary) -> Text:
    """Return the verdict on an engine in one line."""
    word = "CONFORMANT" if summary.conformant else "NOT CONFORMANT"
    line = Text(word, "bold green" if summary.conformant else "bold red")
    name = named(summary.engine, summary.profile)
    return line.append(f"  {name}: {summary_text(summary)}", "default")


def trace_lines(
    result: ClauseResult, seen: Iterable[SeenLine], page: Page
) -> list[Text]:
    """Return all observations of the world in which a clause failed."""
    title = f"{result.clause} on {plain(result.engine)}, every observation:"
    return [Text(title, "bold"), *_seen(seen_lines(seen), page)]


def _smoke(smoke: SmokeResult, page: Page) -> Iterator[Text]:
    text = f"THE DOOR IS WRONG  {smoke.name}: {smoke.asked}"
    yield from page.wrap(plain(text), "bold red", hang="  ")
    if smoke.got:
        yield from page.labelled("got", brief(smoke.got), "red")


def _failing(
    found: Sequence[FailureGroup], clauses: dict[str, ClauseInfo], page: Page
) -> Iterator[Text]:
    """Yield what fails: first what many likely fail for, then MUST, then the others."""
    yield from _causes([each for each in found if each.behind], page)
    must = [each for each in found if each.behind or each.first.level == "MUST"]
    others = [each for each in found if each not in must]
    yield from _groups(must, DETAILED, clauses, page)
    if others:
        yield Text()
        yield Text("Not kept, and not a MUST:", "bold")
    yield from _groups(others, max(DETAILED - len(must), 0), clauses, page)


def _causes(found: Sequence[FailureGroup], page: Page) -> Iterator[Text]:
    if found:
        yield Text()
        yield from page.wrap(f"{GUESS[0].upper()}{GUESS[1:]}:", "bold")
    for each in found:
        yield from page.wrap(cause_text(each), "", "  ", "    ")


def _groups(
    found: Sequence[FailureGroup],
    detailed: int,
    clauses: dict[str, ClauseInfo],
    page: Page,
) -> Iterator[Text]:
    for at, each in enumerate(found):
        clause = clauses[each.first.clause]
        yield from _result(each, clause, page, full=at < detailed)
        if each.behind:
            yield Text("  likely behind it, shown in full by --clause:")
        for other in each.behind:
            said = f"{other.verdict:8} {other.clause}  {other.level}"
            text = f"{said}  {plain(clauses[other.clause].sentence)}"
            yield from page.wrap(text, STYLES.get(other.verdict, ""), "    ", " " * 13)
    short = len(found) - detailed
    if short > 0:
        text = f"{counted(short, 'clause')} above without observations and world:"
        yield Text()
        yield from page.wrap(f"{text} choose some of them, or see a report file.")


def _result(
    group: FailureGroup, clause: ClauseInfo, page: Page, *, full: bool
) -> Iterator[Text]:
    result = group.first
    style = STYLES.get(result.verdict, "")
    head = f"{result.verdict.upper()}  {result.clause}  {result.level}"
    yield Text()
    yield Text(head, f"bold {style}")
    yield from page.wrap(plain(clause.sentence), indent="  ")
    if result.reason:
        yield from page.labelled("because", brief(result.reason, 400), style)
    if result.blocked_by:
        yield from page.labelled("blocker", f"likely {result.blocked_by}", style)
    if result.failure is None:
        return
    found = failure_texts(result.failure)
    yield from _values(found, page)
    if result.worlds:
        worlds = f"{result.failing:,} of {counted(result.worlds, 'world')} that decide"
        yield from page.labelled("fails in", worlds)
    if group.behind and result.verdict == "fail":
        yield from page.labelled("begins", found.begins)
    if full:
        yield from _evidence(found, page)
    if found.reproduce:
        yield Text("  again     ").append(found.reproduce, "bold")


def _values(found: FailureText, page: Page) -> Iterator[Text]:
    yield from page.labelled("asked", found.asked_where)
    yield from page.labelled("expected", found.expected, "green")
    yield from page.labelled("got", found.got, "red")
    if found.differs:
        yield from page.labelled("differs", found.differs)


def _evidence(found: FailureText, page: Page) -> Iterator[Text]:
    if found.around:
        yield Text("  observations around it, > decided:")
        yield from _seen(found.around, page)
    yield from page.wrap(f"{found.world_title}:", "", "  ", "    ")
    for each in found.world:
        depth = len(each) - len(each.lstrip())
        indent = " " * (4 + depth)
        yield from page.wrap(each.strip(), "", indent, f"{indent}  ")


def _seen(around: Iterable[SeenLine], page: Page) -> Iterator[Text]:
    for each in around:
        style = "bold" if each.mark == ">" else "dim"
        yield from page.wrap(each.text, style, f"    {each.mark} ", " " * 8)


def _listed(report: EngineReport, page: Page) -> Iterator[Text]:
    known, stale = report.listed("known"), report.listed("stale")
    if known or stale:
        yield Text()
    for each in known:
        issue = f" ({each.known_issue})" if each.known_issue else ""
        text = f"known   {each.clause}  {each.known_reason}{issue}"
        yield from page.wrap(plain(text), "yellow", hang=" " * 8)
    for each in stale:
        text = f"STALE   {each.clause}  listed as a known failure, but no longer fails"
        yield from page.wrap(plain(text), "bold red", hang=" " * 8)


def _rests_on(report: EngineReport, page: Page) -> Iterator[Text]:
    """Yield what the verdict rests on: capabilities, checks, worlds."""
    yield Text()
    for each in notes(report):
        doubt = each.startswith(DOUBTS) or bool(
            each.startswith("checks") and report.summary.never
        )
        yield from page.wrap(each, "yellow" if doubt else "", hang="  ")
