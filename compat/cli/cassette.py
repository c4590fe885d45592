"""``refengine cassette``: serve a scenario as a model over HTTP, record it, replay it.

What needs an extra is imported where it is used: a missing one is a mistake, reported.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from compat.cli.command import argument, flag, group, option, refusing
from compat.cli.values import DAY, PATH, at_least
from compat.verdicts.exit_codes import DIFFERS, OK

HIGHEST: Final = 65_535

app = group("Serve a scenario as a model over HTTP, record the wire, replay it.")


@app.command()
@argument("scenario", "a scenario (JSON)", PATH)
@option(
    "--port", about="0 takes one that is free", kind=at_least(0, HIGHEST), default=0
)
@option("--model", about="the model that GET /v1/models lists", default="scripted")
def serve(scenario: Path, port: int, model: str) -> int:
    """Serve a scenario's model script as OpenAI chat completions, on 127.0.0.1 only.

    The first line printed is the base URL to give a client; any key will do. The n-th
    call gets the n-th answer of the script. A client with a base URL of
    http://127.0.0.1:PORT/NAME/v1 has a place in the script of its own. Ends on Ctrl-C
    or SIGTERM, and then tells how far each session came.

    Exit codes: 0 ended as asked, 2 a scenario or port that cannot be served.
    """
    with _mistakes("serve"):
        from compat.wire.server.scripted import ScriptedServer
        from refengine.testing.scenario_files import load_scenario

        server = ScriptedServer(load_scenario(scenario), port=port, model=model)
        server.serve(lambda: _say(server.base_url))
    for each in server.sessions:
        answered = f"{each.calls} calls answered"
        _say(f"session {each.name}: {answered}, {len(each.unplayed)} answers left")
    return OK


@app.command()
@argument("scenario", "a scenario (JSON) with runs", PATH)
@argument("cassette", "the file to write (.yaml, .json)", PATH)
@option("--date", "day", about="for the manifest; today if left out", kind=DAY)
@flag("--overwrite", about="write over a cassette that is there")
def record(scenario: Path, cassette: Path, day: date | None, *, overwrite: bool) -> int:
    """Record a scenario's runs: the official client against a scripted server.

    Writes the cassette, scrubbed, and its entry in manifest.toml beside it. Prints what
    came of each run. Only what a client without extensions does can be recorded:
    messages, tools with their scripted results, streaming, several turns and agents.

    Exit codes: 0 recorded, 2 a file that cannot be read, played or written.
    """
    with _mistakes("record"):
        from compat.wire import recording

        day = day or datetime.now(UTC).date()
        found = recording.record(scenario, cassette, day=day, overwrite=overwrite)
    for number, outcome in enumerate(found.outcomes, 1):
        _say(f"run {number}: {outcome}")
    _say(f"{found.entry.interactions} exchanges in {cassette.name}")
    return OK


@app.command()
@argument("cassette", "a cassette (YAML, JSON)", PATH)
def replay(cassette: Path) -> int:
    """Send a cassette's own requests through the transport that replays it.

    A line for each exchange: method, path, status, and in short what was answered.

    Exit codes: 0 all were played, 1 the file does not play as it stands or is not the
    one of its manifest, 2 it cannot be read.
    """
    with _mistakes("replay"):
        from compat.wire.errors import ChangedFileError, PlayingError
        from compat.wire.replay import replay as replayed

        try:
            for each in replayed(cassette):
                _say(str(each))
        except (PlayingError, ChangedFileError) as error:
            _say(str(error))
            return DIFFERS
    return OK


def _say(line: str) -> None:
    """Print at once: who started the server waits for the line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def _mistakes(name: str) -> Generator[None]:
    """Report what a user can get wrong, and name the extra of a missing library."""
    from compat.wire.errors import MissingWireExtraError, WireError
    from refengine.testing.scenario_files import ScenarioError

    with refusing(f"cassette {name}", ScenarioError, WireError, OSError):
        try:
            yield
        except ModuleNotFoundError as error:
            raise MissingWireExtraError(str(error.name)) from error
