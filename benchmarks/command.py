"""``refengine bench``: what a handler costs, and whether that changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional

import typer

from benchmarks.defaults import FAIL_ABOVE, PEERS, TIMES
from compat.commands import new_app, refuse, runner

app = new_app("Measure what a handler costs, and compare two measurements.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What ``bench run`` is asked for."""

    subject: str | None
    against: str | None
    quick: bool
    peers: tuple[str, ...]
    json_file: Path | None
    html_file: Path | None
    markdown_file: Path | None
    plot_file: Path | None


@app.callback()
def _bench() -> None:
    """Measure what a handler costs, and compare two measurements."""


@app.command("run")
def run_command(  # noqa: PLR0913, PLR0917  # the options of the command
    subject: Annotated[
        Optional[str],  # noqa: UP045  # typer reads the annotation at run time
        typer.Argument(help="your handlers: module:name, file.py:name or file.py"),
    ] = None,
    against: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(metavar="SUBJECT", help="what SUBJECT is compared with"),
    ] = None,
    quick: Annotated[  # noqa: FBT002  # a flag, given by its name
        bool, typer.Option("--quick", help="two minutes: fewer points, wider intervals")
    ] = False,
    peer: Annotated[
        Optional[list[str]],  # noqa: UP045  # as above
        typer.Option(help=f"measure these frameworks beside it: {', '.join(PEERS)}"),
    ] = None,
    peers: Annotated[  # noqa: FBT002  # as above
        bool, typer.Option("--peers/--no-peers", help="measure other frameworks, too")
    ] = True,
    json_file: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--json", help="write all numbers to this file"),
    ] = None,
    html_file: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--html", help="write a page with plots to this file"),
    ] = None,
    markdown_file: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--markdown", help="write the tables to this file"),
    ] = None,
    plot_file: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--plot", help="write the plot to this file, as SVG"),
    ] = None,
) -> None:
    """Measure what a handler costs over bare Python and over no handler.

    Without SUBJECT, handlers that do nothing are measured, one kind for each hook, then
    how cost grows with their number, and other frameworks doing the same. SUBJECT is a
    function subject(world) that returns a list of struct middlewares or handlers, as
    for migrate check: the whole of it is measured, each handler and each hook.

    A row is shown only if its run did its work: the tool ran once, and each hook as
    often as the contract says. What two equal sides may differ by is told, and nothing
    nearer to 1 is told apart.

    Exit codes: 0 measured, 2 a mistake in what was given, 3 the measuring process was
    lost, 4 nothing could be measured. The bars are about refengine itself: one that is
    missed is told and changes no code.
    """
    if against is not None and subject is None:
        refuse("bench run", "--against compares SUBJECT with it: give SUBJECT, too")
    if peer and subject is not None:
        refuse("bench run", "peers run handlers that do nothing: leave SUBJECT out")
    if peer and not peers:
        refuse("bench run", "--peer and --no-peers contradict each other")
    if unknown := [each for each in peer or () if each not in PEERS]:
        refuse("bench run", f"no peer {unknown[0]!r}; there are {', '.join(PEERS)}")
    chosen = tuple(peer or PEERS) if peers and subject is None else ()
    from benchmarks import work

    work.run(
        Wanted(
            subject=subject,
            against=against,
            quick=quick,
            peers=chosen,
            json_file=json_file,
            html_file=html_file,
            markdown_file=markdown_file,
            plot_file=plot_file,
        )
    )


@app.command("compare")
def compare_command(
    old: Annotated[Path, typer.Argument(metavar="A", help="a file of run --json")],
    new: Annotated[Path, typer.Argument(metavar="B", help="another, of the same rows")],
    fail_above: Annotated[
        float, typer.Option(min=1.0, help="a row of B may be so many times that of A")
    ] = FAIL_ABOVE,
) -> None:
    """Compare two measurements, row by row, by their ratios over the same floor.

    Machines that differ are told apart by the floor as far as that goes: the ratios are
    compared, never the times. What lies within the noise of both is not
    distinguishable: it neither passes nor fails.

    Exit codes: 0 no row is above, 1 a row is above, 2 a mistake in what was given,
    6 the two have no row in common.
    """
    from benchmarks import work

    work.compare(old, new, fail_above)


@app.command("same")
def same_command(
    times: Annotated[int, typer.Option(min=1, help="comparisons")] = TIMES,
) -> None:
    """Compare equal sides with each other: what is told apart then is told wrongly.

    Exit codes: 0 at most 5 of 100 were told apart, 1 more were, 3 the measuring process
    was lost.
    """
    from benchmarks import work

    work.same(times)


main = runner(app, "bench")
