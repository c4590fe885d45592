"""A judgement at a terminal: progress while it goes on, each engine once it is done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from compat.report.conform_gathered import engine_report
from compat.report.conform_lines import (
    WIDTH,
    Page,
    engine_lines,
    header_lines,
    verdict_line,
)
from compat.report.conform_text import cleaned, counted, plain
from compat.verdicts.conformance import (
    AnyEvent,
    ClauseInfo,
    EngineSummary,
    Footer,
    Progress,
    StreamHeader,
)

WIDEST: Final = 100
"""Longer lines are hard to read, however wide a terminal is."""


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
            if isinstance(event, EngineSummary):
                self._summaries.append(event)
                self._engine()

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
