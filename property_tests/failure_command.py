"""``refengine failure list|replay``: the command line; ``failure_work`` does it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compat.commands import new_app, runner
from property_tests.defaults import FAILURES, TIMEOUT

app = new_app("List failures that were written down, and play one again.")


@app.command("list")
def list_(
    folder: Annotated[
        Path, typer.Argument(help="a folder of failure files")
    ] = FAILURES,
) -> None:
    """List the failures of a folder, a line each.

    Exit codes: 0 there are some, 2 one or the folder cannot be read, 4 there is none.
    """
    from property_tests import failure_work

    failure_work.list_failures(folder)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="a failure file")],
    engine: Annotated[str, typer.Argument(help="the engine, as for conform")],
    timeout: Annotated[float, typer.Option(min=0.1, help="seconds")] = TIMEOUT,
) -> None:
    """Play the world of a failure again, under the profile it was found under.

    Exit codes: 0 fixed, 1 it still fails, 2 the file cannot be read or is another
    engine's, 3 the engine or its door broke down, 4 its check decides nothing there.
    """
    from property_tests import failure_work

    failure_work.replay(file, engine, timeout)


main = runner(app, "failure")
