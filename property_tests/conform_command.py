"""``refengine conform``: the command line; ``conform_work`` judges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from compat.commands import new_app, runner
from property_tests.defaults import EXAMPLES, SEED, TIMEOUT

ToFile: TypeAlias = Path | None


def _to(about: str) -> Any:  # noqa: ANN401  # as typer has it
    """Return an option that names a file to write."""
    return typer.Option(help=about, dir_okay=False, metavar="FILE")


app = new_app("Judge whether engines keep the contract.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """The files that a judgement is written to, ``failures`` a folder of them."""

    events: Path | None = None
    json: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None
    html: Path | None = None
    failures: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asks for; ``timeout`` in seconds for one world."""

    engines: tuple[str, ...]
    words: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    profile: str | None = None
    examples: int = EXAMPLES
    seed: int = SEED
    timeout: float = TIMEOUT
    jobs: int = 0
    known: Path | None = None
    strict: bool = False
    show_trace: str | None = None
    reports: Reports = Reports()


@app.command()
def conform(  # noqa: PLR0913, PLR0917  # options of a command line
    engines: Annotated[
        list[str],
        typer.Argument(help="names of engines, module:factory or file.py:factory"),
    ],
    words: Annotated[
        list[str] | None, typer.Option("-k", help="a family (ORD) or part of an id")
    ] = None,
    clause: Annotated[list[str] | None, typer.Option(help="exactly this one")] = None,
    profile: Annotated[str | None, typer.Option(help="judge under this one")] = None,
    examples: Annotated[
        int, typer.Option(min=0, help="generated worlds beside the fixed cases")
    ] = EXAMPLES,
    seed: Annotated[int, typer.Option(help="other numbers, other worlds")] = SEED,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="seconds for one world")
    ] = TIMEOUT,
    jobs: Annotated[int, typer.Option(min=0, help="workers; 0: one a core")] = 0,
    known: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="known failures, as TOML"),
    ] = None,
    strict: Annotated[  # noqa: FBT002  # an option of the command line
        bool, typer.Option("--strict", help="a failed SHOULD counts as well")
    ] = False,
    show_trace: Annotated[
        str | None,
        typer.Option(metavar="ID", help="all that a clause's failure rests on"),
    ] = None,
    events: Annotated[ToFile, _to("every event, a line of JSON each")] = None,
    json: Annotated[ToFile, _to("one document")] = None,
    junit: Annotated[ToFile, _to("for a CI that reads JUnit")] = None,
    markdown: Annotated[ToFile, _to("for a CI's summary")] = None,
    html: Annotated[ToFile, _to("one page: engines and clauses, to look into")] = None,
    failures: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="write each failure there, for replay"),
    ] = None,
) -> None:
    """Judge engines in the same worlds, clause by clause.

    Exit codes: 0 conformant, 1 not, 2 usage, 3 an engine, its door or the harness broke
    down, 4 nothing ran, 5 a known failure that is none any more.
    """
    wanted = Wanted(
        engines=tuple(engines),
        words=tuple(words or ()),
        ids=tuple(clause or ()),
        profile=profile,
        examples=examples,
        seed=seed,
        timeout=timeout,
        jobs=jobs,
        known=known,
        strict=strict,
        show_trace=show_trace,
        reports=Reports(
            events=events,
            json=json,
            junit=junit,
            markdown=markdown,
            html=html,
            failures=failures,
        ),
    )
    from property_tests import conform_work

    conform_work.conform(wanted)


main = runner(app, "conform")
