"""``refengine bench``: what a handler costs, and whether that changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.defaults import FAIL_ABOVE, MOST_APART, PEERS, TIMES
from compat.cli.command import argument, flag, group, is_given, option, refuse, refusing
from compat.cli.conform_kinds import refuse_for_node
from compat.cli.values import OUTPUT, PATH, at_least
from compat.report.plain_text import write_text
from compat.verdicts.exit_codes import DIFFERS, FAULT, NOT_COMPARABLE, NOTHING_RAN, OK

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks.specs import SideSpec
    from compat.verdicts.cost import Change, Costs, Estimate

PERCENT: Final = 100
WIDTH: Final = 110
"""Columns of a report in a file or a pipe, which have none of their own."""

app = group("Measure what a handler costs, and compare two measurements.")


@app.command()
@argument(
    "subject", "your handlers: module:name, file.py:name or file.py", required=False
)
@option("--against", about="what SUBJECT is compared with", metavar="SUBJECT")
@option(
    "--setup",
    about="measure frameworks plain, and with what this file turns on",
    kind=PATH,
    metavar="FILE",
)
@option(
    "--with",
    "packages",
    about="what they run with, with --setup: as for conform",
    metavar="PACKAGES",
    multiple=True,
)
@flag("--quick", about="two minutes: fewer points, wider intervals")
@option(
    "--peer",
    "chosen",
    about=f"measure these frameworks beside it: {', '.join(PEERS)}",
    multiple=True,
)
@flag("--peers/--no-peers", about="measure other frameworks, too", default=True)
@option("--json", about="write all numbers to this file", kind=OUTPUT)
@option("--html", about="write a page with plots to this file", kind=OUTPUT)
@option("--markdown", about="write the tables to this file", kind=OUTPUT)
@option("--plot", about="write the plot to this file, as SVG", kind=OUTPUT)
def run(  # noqa: PLR0913  # the options of the command
    *,
    subject: str | None,
    against: str | None,
    setup: Path | None,
    packages: tuple[str, ...],
    quick: bool,
    chosen: tuple[str, ...],
    peers: bool,
    json: Path | None,
    html: Path | None,
    markdown: Path | None,
    plot: Path | None,
) -> int:
    """Measure what a handler costs over bare Python and over no handler.

    Without SUBJECT it measures handlers that do nothing, one kind for each hook, how
    the cost grows with their number, and what other frameworks take for the same.
    SUBJECT is a function subject(world) that returns a list of struct middlewares or
    handlers, as for migrate check: it is measured as a whole, by handler and by hook.

    --setup is a file that turns an observer on, such as tracing: the same runs of each
    framework are measured in two processes, one of which has run it, in turns, and told
    as a ratio, with more and more handlers and chunks of a stream.

    A row is shown only if its run did its work: the tool ran once, and each hook as
    often as the contract says. The report tells by how much two equal sides differ; a
    ratio that is nearer to 1 than that counts as no difference.

    Exit codes: 0 measured, 2 a mistake in what was given, 3 the measuring process was
    lost, 4 nothing could be measured. The bars are about refengine itself: a missed one
    is reported, and does not change the exit code.
    """
    if against is not None and subject is None:
        refuse("bench run", "--against compares SUBJECT with it: give SUBJECT, too")
    if subject is not None and (chosen or is_given("peers")):
        refuse(
            "bench run",
            "peers, whose handlers do nothing, are measured without SUBJECT only: leave"
            " SUBJECT out, or the options about peers",
        )
    _check_setup(setup, subject, packages, peers=peers)
    if chosen and not peers:
        refuse("bench run", "--peer and --no-peers contradict each other")
    if unknown := [each for each in chosen if each not in PEERS]:
        refuse("bench run", f"no peer {unknown[0]!r}; there are {', '.join(PEERS)}")
    files = {"json": json, "html": html, "markdown": markdown, "plot": plot}
    others = (chosen or PEERS) if peers and subject is None else ()
    from benchmarks.measurer import ChildLostError
    from benchmarks.running import BenchRequest, check_outputs, measured
    from compat.environments.workers import chosen_python
    from compat.report.cost_terminal import lines

    with refusing("bench run", *_mistakes()), chosen_python(packages) as python:
        subjects = _found_by(subject), _found_by(against)
        check_outputs(files)
        request = BenchRequest(
            subject, against, subjects, quick, others, setup, packages, python
        )
        try:
            with _progress() as tell:
                costs = measured(request, tell)
        except ChildLostError as error:
            return _lost("bench run", error)
        # Files first: whoever reads the report through a pipe may stop in the middle.
        _write(costs, files)
    for line in lines(costs):
        _console().print(line)
    return _code(costs)


@app.command()
@argument("old", "a file of run --json", PATH, metavar="A")
@argument("new", "another, of the same rows", PATH, metavar="B")
@option(
    "--fail-above",
    about="how many times its row in A a row of B may be",
    kind=at_least(1.0),
    default=FAIL_ABOVE,
)
def compare(old: Path, new: Path, fail_above: float) -> int:
    """Compare two measurements, row by row, by their ratios over the same floor.

    Ratios over the floor are compared, never times: as far as that goes, the two may
    come from different machines. What lies within the noise of both is not
    distinguishable: it neither passes nor fails.

    Exit codes: 0 no row is above, 1 a row is above, 2 a mistake in what was given,
    6 the two have no row in common.
    """
    from benchmarks.comparing import compared, differing, read
    from compat.report.cost_terminal import compared_lines

    with refusing("bench compare", *_mistakes()):
        first, second = read(old), read(new)
    rows = list(compared(first, second, fail_above))
    for text in differing(first, second):
        _console().print(f"The two differ in {text}", highlight=False)
    for line in compared_lines(rows, fail_above):
        _console().print(line)
    verdicts = {row.verdict for row in rows}
    if not verdicts - {"not shown"}:
        return NOT_COMPARABLE
    return DIFFERS if "fail" in verdicts else OK


@app.command()
@option("--times", about="comparisons", kind=at_least(1), default=TIMES)
def same(times: int) -> int:
    """Compare equal sides with each other: each difference that is found is wrong.

    Exit codes: 0 at most 5 of 100 were told apart, 1 more were, 3 the measuring process
    was lost.
    """
    from benchmarks.measurer import ChildLostError, Measurer
    from benchmarks.plan import QUICK
    from benchmarks.rows import is_apart
    from compat.report.conform_text import counted

    with refusing("bench same", *_mistakes()), Measurer() as measurer:
        try:
            apart = sum(map(_is_apart, is_apart(measurer, times, QUICK)))
        except ChildLostError as error:
            return _lost("bench same", error)
    most = MOST_APART * times / PERCENT
    of = counted(times, "comparison")
    _console().print(
        f"{apart} of {of} of equal sides told them apart; at most {most:g} may"
    )
    return DIFFERS if apart > most else OK


def _check_setup(
    setup: Path | None, subject: str | None, packages: tuple[str, ...], *, peers: bool
) -> None:
    """Leave with a message if a setup is not there, or given to what has none."""
    if setup is None:
        if packages:
            refuse(
                "bench run", "--with is for what --setup observes: give --setup, too"
            )
        return
    if not setup.is_file():
        refuse("bench run", f"there is no setup {setup}")
    what = "the frameworks that are measured"
    refuse_for_node("bench run", "--setup", setup, what)
    if subject is not None:
        refuse("bench run", "--setup is measured on frameworks: leave SUBJECT out")
    if not peers:
        refuse("bench run", "--setup and --no-peers contradict each other")


def _mistakes() -> tuple[type[Exception], ...]:
    """Return what a user can get wrong: reported without a traceback."""
    from benchmarks.comparing import NotAReportError
    from benchmarks.rows import NotMeasuredError
    from benchmarks.running import OutputError
    from compat.environments.making import EnvironmentMakingError
    from compat.environments.naming import EnvironmentChoiceError
    from compat.environments.pythons import PythonError
    from compat.migration.refs import RefError
    from refengine.testing.world import WorldExtraError

    own = NotAReportError, NotMeasuredError, OutputError
    around = EnvironmentChoiceError, EnvironmentMakingError, PythonError
    return WorldExtraError, *own, *around, RefError, OSError


def _is_apart(found: tuple[SideSpec, Estimate, Change]) -> bool:
    """Say whether equal sides were told apart, and print those that were."""
    side, ratio, change = found
    if change == "not distinguishable":
        return False
    shown = f"{ratio.value:.4f} ({ratio.low:.4f} to {ratio.high:.4f})"
    _console().print(f"told apart: {side.setting.key}: {shown}")
    return True


def _found_by(text: str | None) -> str | None:
    """Return the subject as the child finds it; raises RefError."""
    from compat.migration.refs import parse_ref

    if text is None:
        return None
    ref = parse_ref(text)
    return f"{ref.module if ref.file is None else ref.file}:{ref.name}"


def _write(costs: Costs, files: Mapping[str, Path | None]) -> None:
    from compat.report.cost_files import markdown_text, page_text, write_plot

    if path := files["json"]:
        write_text(path, costs.model_dump_json(indent=1) + "\n")
    if path := files["markdown"]:
        write_text(path, markdown_text(costs))
    if path := files["html"]:
        write_text(path, page_text(costs))
    if (path := files["plot"]) and not write_plot(costs, path):
        sys.stderr.write(f"{path} was not written: nothing to draw\n")


def _code(costs: Costs) -> int:
    shown = {each.floor for cost in costs.costs for each in cost.compared}
    if not shown or (costs.header.against is not None and "against" not in shown):
        return NOTHING_RAN
    return OK


def _lost(name: str, error: Exception) -> int:
    sys.stderr.write(f"refengine {name}: {error}\n")
    return FAULT


def _console() -> Console:
    from rich.console import Console

    own = Console(highlight=False)
    return own if own.is_terminal else Console(highlight=False, width=WIDTH)


@contextmanager
def _progress() -> Generator[Callable[[str], None], None, None]:
    """Show what is being measured, on a terminal only."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("starting", total=None)

        def show(text: str) -> None:
            bar.update(task, description=text)

        yield show
