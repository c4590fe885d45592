"""``refengine observe FILE…``: the command line; ``work`` does what it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from compat.commands import new_app, runner, told
from refengine.errors import UnknownProfileError
from refengine.profile import profile

app = new_app("Run rows of observed behaviour and tell which hold.")


@app.command()
def observe(
    files: Annotated[list[Path], typer.Argument(help="files of rows (JSON lists)")],
    profile_name: Annotated[
        Optional[str],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option("--profile", help="compare only this profile's version"),
    ] = None,
    json_file: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option("--json", help="write counts and a list by id to this file"),
    ] = None,
) -> None:
    """Run rows of observed behaviour on the reference engine, a line each.

    holds: everything the row names was seen. DIFFERS: the first thing that was not.
    beyond: the row needs an operation outside the vocabulary. on purpose: a difference
    that is meant, with the reason. not compared: no profile stands for its versions.

    Exit codes: 0 no row differs, 1 a row differs, 2 a file, row or name that cannot be
    read, 3 the harness failed at a row, 4 no row was compared.
    """
    with told("observe", UnknownProfileError):
        profiles = None if profile_name is None else [profile(profile_name).name]
    from compat.observe import work

    work.observe(files, profiles, json_file)


main = runner(app, "observe")
