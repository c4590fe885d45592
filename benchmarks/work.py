"""What the commands of ``refengine bench`` do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks.asking import ChildLostError, Measurer
from benchmarks.command import Wanted
from benchmarks.comparing import NotAReportError, compared, differing, read
from benchmarks.defaults import MOST_APART
from benchmarks.outputs import OutputError, check_outputs
from benchmarks.plan import QUICK
from benchmarks.rows import NotMeasuredError, told_apart
from benchmarks.running import BenchRequest, measured
from benchmarks.specs import SideSpec
from compat.commands import (
    DIFFERS,
    FAULT,
    NOT_COMPARABLE,
    NOTHING_RAN,
    OK,
    told,
)
from compat.migration.refs import RefError, parse_ref
from compat.report import cost_compared, cost_lines
from compat.report.cost_markdown import markdown_text
from compat.report.cost_page import page_text
from compat.report.cost_plots import write_plot
from compat.verdicts.cost import Change, Costs, Estimate
from refengine.testing.world import WorldExtraError

MISTAKES: Final = (
    WorldExtraError,
    NotAReportError,
    NotMeasuredError,
    OutputError,
    RefError,
    OSError,
)
"""What a user can get wrong: told in its own words, without a traceback."""
PERCENT: Final = 100
WIDTH: Final = 110
"""Columns of a report in a file or a pipe, which have none of their own."""


def run(wanted: Wanted) -> NoReturn:
    """Measure, print, write the files; leaves with the exit code."""
    with told("bench run", *MISTAKES):
        places = _place(wanted.subject), _place(wanted.against)
        check_outputs(wanted)
        asked = BenchRequest(
            wanted.subject, wanted.against, places, wanted.quick, wanted.peers
        )
        try:
            with _progress() as tell:
                costs = measured(asked, tell)
        except ChildLostError as error:
            _leave("bench run", str(error), FAULT)
        # Files first: whoever reads the report through a pipe may stop in the middle.
        _write(costs, wanted)
    for line in cost_lines.lines(costs):
        _console().print(line)
    raise typer.Exit(_code(costs))


def compare(old: Path, new: Path, limit: float) -> NoReturn:
    """Compare two reports, row by row; leaves with the exit code."""
    with told("bench compare", *MISTAKES):
        first, second = read(old), read(new)
    rows = list(compared(first, second, limit))
    for text in differing(first, second):
        _console().print(f"The two differ in {text}", highlight=False)
    for line in cost_compared.lines(rows, limit):
        _console().print(line)
    verdicts = {row.verdict for row in rows}
    if not verdicts - {"not shown"}:
        raise typer.Exit(NOT_COMPARABLE)
    raise typer.Exit(DIFFERS if "fail" in verdicts else OK)


def same(times: int) -> NoReturn:
    """Compare equal sides so often, and tell how many were told apart."""
    with told("bench same", *MISTAKES), Measurer() as measurer:
        try:
            apart = sum(map(_told_apart, told_apart(measurer, times, QUICK)))
        except ChildLostError as error:
            _leave("bench same", str(error), FAULT)
    most = MOST_APART * times / PERCENT
    _console().print(
        f"{apart} of {times} equal sides were told apart; at most {most:g} may be"
    )
    raise typer.Exit(DIFFERS if apart > most else OK)


def _told_apart(found: tuple[SideSpec, Estimate, Change]) -> bool:
    """Tell whether equal sides were told apart, and print those that were."""
    side, ratio, change = found
    if change == "not distinguishable":
        return False
    shown = f"{ratio.value:.4f} ({ratio.low:.4f} to {ratio.high:.4f})"
    _console().print(f"told apart: {side.setting.key}: {shown}")
    return True


def _place(text: str | None) -> str | None:
    """Return the subject as the child finds it; raises RefError."""
    if text is None:
        return None
    ref = parse_ref(text)
    return f"{ref.module if ref.file is None else ref.file}:{ref.name}"


def _write(costs: Costs, wanted: Wanted) -> None:
    if wanted.json_file is not None:
        wanted.json_file.write_text(costs.model_dump_json(indent=1) + "\n", "utf-8")
    if wanted.markdown_file is not None:
        wanted.markdown_file.write_text(markdown_text(costs), "utf-8")
    if wanted.html_file is not None:
        wanted.html_file.write_text(page_text(costs), "utf-8")
    if wanted.plot_file is not None and not write_plot(costs, wanted.plot_file):
        sys.stderr.write(f"{wanted.plot_file} was not written: nothing to draw\n")


def _code(costs: Costs) -> int:
    shown = {each.floor for cost in costs.costs for each in cost.compared}
    if not shown or (costs.header.against is not None and "against" not in shown):
        return NOTHING_RAN
    return OK


def _leave(command: str, message: str, code: int) -> NoReturn:
    sys.stderr.write(f"refengine {command}: {message}\n")
    raise typer.Exit(code)


def _console() -> Console:
    told = Console(highlight=False)
    return told if told.is_terminal else Console(highlight=False, width=WIDTH)


@contextmanager
def _progress() -> Generator[Callable[[str], None], None, None]:
    """Show what is being measured, on a terminal only."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("starting", total=None)

        def tell(text: str) -> None:
            bar.update(task, description=text)

        yield tell
