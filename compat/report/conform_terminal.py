"""A judgement at a terminal: progress while it goes on, each engine once it is done."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from compat.report.conform_failure import FailureText, failure_texts
from compat.report.conform_gathered import (
    COLUMNS,
    GUESS,
    LEVELS,
    EngineReport,
    FailureGroup,
    cause_text,
    counts,
    engine_report,
    excluded_text,
    groups,
    known_text,
    notes,
    summary_text,
    worlds_text,
)
from compat.report.conform_text import brief, cleaned, counted, plain_lines
from compat.report.plain_text import plain
from compat.verdicts.conformance import (
    AnyEvent,
    ClauseInfo,
    EngineSummary,
    Footer,
    Progress,
    SeenLine,
    SmokeResult,
    StreamHeader,
)

DETAILED: Final = 12
"""So many clauses are shown with observations and world, the others without."""
WIDTH: Final = 80
WIDEST: Final = 100
"""Longer lines are hard to read, however wide a terminal is."""
STYLES: Final = {"fail": "red", "blocked": "red", "error": "magenta"}
VALUES: Final = {"expected": "green", "got": "red"}
DOUBTS: Final = ("declared", "found by", "thin")
"""Notes that begin so are for somebody to act on."""
_LABEL: Final = 10
"""What stands before a value: ``expected``, and two spaces."""


@dataclass(frozen=True, slots=True)
class Page:
    """How wide a line may be.

    Commands and addresses are never broken, so that they can be copied.
    """

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
            break_long_words="://" not in text,
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
    yield from _not_kept(report, clauses, page)
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


def door_is_wrong(smoke: SmokeResult) -> str:
    """Return what a door does not do that every verdict rests on, in one line."""
    return f"THE DOOR IS WRONG  {smoke.name}: {smoke.asked}"


def _smoke(smoke: SmokeResult, page: Page) -> Iterator[Text]:
    text = door_is_wrong(smoke)
    yield from page.wrap(plain(text), "bold red", hang="  ")
    if smoke.got:
        yield from page.labelled("got", brief(smoke.got), "red")


def _not_kept(
    report: EngineReport, clauses: dict[str, ClauseInfo], page: Page
) -> Iterator[Text]:
    """Yield what fails; behind a door that is wrong no more than how much it is."""
    found = groups(report)
    if not report.broken or len(found) <= DETAILED:
        yield from _failing(found, clauses, page)
        return
    text = f"{counted(len(found), 'clause')} not kept, and not listed here: mend the"
    yield Text()
    yield from page.wrap(f"{text} door first. Report files list them.", "yellow")


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
    for label, text in found.rows:
        yield from page.labelled(label, text, VALUES.get(label, ""))
    if result.worlds:
        worlds = f"{result.failing:,} of {counted(result.worlds, 'world')} that decide"
        yield from page.labelled("fails in", worlds)
    if group.behind and result.verdict == "fail":
        yield from page.labelled("begins", found.begins)
    if full:
        yield from _evidence(found, page)
    if found.reproduce:
        yield Text("  again     ").append(found.reproduce, "bold")


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
        text = f"known   {each.clause}  {known_text(each)}"
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


class Terminal:
    """Prints a judgement while its events come in.

    Progress goes to ``live``, and only if that is a terminal; all else to ``out``.
    """

    def __init__(self, out: Console, live: Console | None = None) -> None:
        self._out = out
        self._live = live
        self._page = Page(min(out.width, WIDEST) if out.is_terminal else WIDTH)
        self._bar: Bar | None = None
        self._task = TaskID(0)
        self._clauses: dict[str, ClauseInfo] = {}
        self._mine: list[AnyEvent] = []
        self._summaries: list[EngineSummary] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def take(self, event: AnyEvent) -> None:
        """Print what can be said now that this is known."""
        if isinstance(event, Progress):
            self._progress(event)
        elif isinstance(event, StreamHeader):
            self._print(header_lines(event, self._page))
        elif isinstance(event, ClauseInfo):
            self._clauses[event.id] = event
        elif isinstance(event, Footer):
            self._end(event)
        else:
            self._mine.append(cleaned(event))
            if isinstance(event, SmokeResult) and not event.passed:
                self._warn(event)
            if isinstance(event, EngineSummary):
                self._summaries.append(event)
                self._engine()

    def _warn(self, smoke: SmokeResult) -> None:
        """Tell at once what makes all that follows count for nothing."""
        if self._live is not None and self._live.is_terminal:
            text = f"{door_is_wrong(smoke)}; nothing counts until it is mended (Ctrl-C)"
            self._live.print(Text(text, "bold red"), highlight=False)

    def _engine(self) -> None:
        self._stop()
        self._print(engine_lines(engine_report(self._mine), self._clauses, self._page))
        self._mine.clear()

    def _end(self, footer: Footer) -> None:
        self._stop()
        self._print([Text()])
        if len(self._summaries) > 1:
            self._print(map(verdict_line, self._summaries))
        text = f"digest {footer.digest[:12]}, exit code {footer.exit_code}"
        self._print([Text(text, "dim")])

    def _progress(self, event: Progress) -> None:
        if self._live is None or not self._live.is_terminal:
            return
        if self._bar is None:
            self._bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("worlds, {task.fields[failing]} failing", markup=False),
                console=self._live,
                transient=True,
            )
            self._task = self._bar.add_task("", failing="")
            self._bar.start()
        self._bar.update(
            self._task,
            description=plain(event.engine),
            completed=event.done,
            total=event.worlds,
            failing=counted(event.failing, "clause"),
        )

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _print(self, lines: Iterable[Text]) -> None:
        for line in lines:
            # Wrapped already, and a command to be copied stays in one line.
            self._out.print(line, soft_wrap=True, highlight=False)
