"""``refengine cassette``: serve a scenario as a model, record the wire, replay it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Optional

import typer

from compat.commands import DIFFERS, new_app, runner, told
from compat.wire.errors import (
    ChangedFileError,
    MissingWireExtraError,
    PlayingError,
    WireError,
)
from refengine.testing.reading import ScenarioError, load_scenario

HIGHEST: Final = 65_535
MISTAKES: Final = (ScenarioError, WireError, OSError)

app = new_app("Serve a scenario as a model over HTTP, record the wire, replay it.")

# What needs an extra is imported where it is used, so that --help needs none.


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
    with told("cassette serve", *MISTAKES), _extra():
        from compat.wire.server import ScriptedServer  # noqa: PLC0415  # an extra's

        server = ScriptedServer(load_scenario(scenario), port=port, model=model)
        server.serve(lambda: _say(server.base_url))
    for each in server.sessions:
        answered = f"{each.calls} calls answered"
        _say(f"session {each.name}: {answered}, {len(each.unplayed)} answers left")


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
    with told("cassette record", *MISTAKES), _extra():
        from compat.wire import recording  # noqa: PLC0415  # an extra's

        day = (date or datetime.now(UTC)).date()
        found = recording.record(scenario, cassette, day=day, overwrite=overwrite)
    for number, outcome in enumerate(found.outcomes, 1):
        _say(f"run {number}: {outcome}")
    _say(f"{found.entry.interactions} exchanges in {cassette.name}")


@app.command()
def replay(
    cassette: Annotated[Path, typer.Argument(help="a cassette (YAML, JSON)")],
) -> None:
    """Send a cassette's own requests through the transport that replays it.

    A line for each exchange: method, path, status, and in short what was answered.

    Exit codes: 0 all were played, 1 the file does not play as it stands or is not the
    one of its manifest, 2 it cannot be read.
    """
    with told("cassette replay", *MISTAKES), _extra():
        from compat.wire.server_replay import (  # noqa: PLC0415  # an extra's
            replay as replayed,
        )

        try:
            for each in replayed(cassette):
                _say(str(each))
        except (PlayingError, ChangedFileError) as error:
            _say(str(error))
            raise typer.Exit(DIFFERS) from error


def _say(line: str) -> None:
    """Print at once: who started the server waits for the line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def _extra() -> Generator[None]:
    """Name the extra when one of its libraries is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingWireExtraError(str(error.name)) from error


main = runner(app, "cassette")
