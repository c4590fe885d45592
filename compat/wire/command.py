"""``refengine cassette``: the command line; ``work`` serves, records and replays."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Optional

import typer

from compat.commands import new_app, runner

HIGHEST: Final = 65_535

app = new_app("Serve a scenario as a model over HTTP, record the wire, replay it.")


@app.command()
def serve(
    scenario: Annotated[Path, typer.Argument(help="a scenario (JSON)")],
    port: Annotated[
        int, typer.Option(min=0, max=HIGHEST, help="0 takes one that is free")
    ] = 0,
    model: Annotated[
        str, typer.Option(help="the model that GET /v1/models lists")
    ] = "scripted",
) -> None:
    """Serve a scenario's model script as OpenAI chat completions, on 127.0.0.1 only.

    The first line printed is the base URL to give a client; any key will do. The n-th
    call gets the n-th answer of the script. A client with a base URL of
    http://127.0.0.1:PORT/NAME/v1 has a place in the script of its own. Ends on Ctrl-C
    or SIGTERM, and then tells how far each session came.

    Exit codes: 0 ended as asked, 2 a scenario or port that cannot be served.
    """
    from compat.wire import work

    work.serve(scenario, port, model)


@app.command()
def record(
    scenario: Annotated[Path, typer.Argument(help="a scenario (JSON) with runs")],
    cassette: Annotated[Path, typer.Argument(help="the file to write (.yaml, .json)")],
    date: Annotated[
        Optional[datetime],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option(formats=["%Y-%m-%d"], help="for the manifest; today if left out"),
    ] = None,
    overwrite: Annotated[  # noqa: FBT002  # a flag, given by its name
        bool, typer.Option("--overwrite", help="write over a cassette that is there")
    ] = False,
) -> None:
    """Record a scenario's runs: the official client against a scripted server.

    Writes the cassette, scrubbed, and its entry in manifest.toml beside it. Prints what
    came of each run. Only what a client without extensions does can be recorded:
    messages, tools with their scripted results, streaming, several turns and agents.

    Exit codes: 0 recorded, 2 a file that cannot be read, played or written.
    """
    from compat.wire import work

    day = None if date is None else date.date()
    work.record(scenario, cassette, day, overwrite=overwrite)


@app.command()
def replay(
    cassette: Annotated[Path, typer.Argument(help="a cassette (YAML, JSON)")],
) -> None:
    """Send a cassette's own requests through the transport that replays it.

    A line for each exchange: method, path, status, and in short what was answered.

    Exit codes: 0 all were played, 1 the file does not play as it stands or is not the
    one of its manifest, 2 it cannot be read.
    """
    from compat.wire import work

    work.replay(cassette)


main = runner(app, "cassette")
