"""``refengine checkpoint show|verify FILE``: the command line; ``work`` does it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from compat.commands import new_app, runner

app = new_app("Show the runs that are kept in a file, and verify that they are whole.")

FILE = typer.Argument(help="a SQLite store, or a file of records")
KEY = typer.Argument(help="the key of one run")
JSON = typer.Option("--json", help="print it as JSON")


@app.command()
def show(
    file: Annotated[Path, FILE],
    key: Annotated[Optional[str], KEY] = None,  # noqa: UP045  # typer reads the annotation at run time
    *,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Show the runs of a file, or one of them: where it stands, what it waits for.

    Messages, values and payloads are shown as they are, secrets in them too. A value
    of a type that is not known here is shown by its name and its data; nothing is
    imported for it. Nothing in the file is changed.

    Exit codes: 0, 1 a run cannot be read, 2 a mistake in what was given, 4 nothing is
    kept in the file.
    """
    from compat.state import work

    raise typer.Exit(work.show(file, key, as_json=as_json))


@app.command()
def verify(
    file: Annotated[Path, FILE],
    key: Annotated[Optional[str], KEY] = None,  # noqa: UP045  # typer reads the annotation at run time
    *,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Verify each record of each run: its digest, what stands in it, and its place.

    What a type of yours makes of its data is not tried: only your program knows it.
    Nothing in the file is changed.

    Exit codes: 0 all is whole, 1 something is not, 2 a mistake in what was given,
    4 nothing is kept in the file.
    """
    from compat.state import work

    raise typer.Exit(work.verify(file, key, as_json=as_json))


main = runner(app, "checkpoint")
