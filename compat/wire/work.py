"""What ``refengine cassette`` does: serve a scenario, record its wire, replay it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import typer

from compat.commands import DIFFERS, told
from compat.wire.errors import (
    ChangedFileError,
    MissingWireExtraError,
    PlayingError,
    WireError,
)
from refengine.testing.reading import ScenarioError, load_scenario

MISTAKES: Final = (ScenarioError, WireError, OSError)

# What needs an extra is imported where it is used: a missing one is a mistake, told.


def serve(scenario: Path, port: int, model: str) -> None:
    """Serve a scenario until Ctrl-C or SIGTERM, then tell how far each session came."""
    with told("cassette serve", *MISTAKES), _extra():
        from compat.wire.server.scripted import ScriptedServer  # noqa: PLC0415  # an extra's

        server = ScriptedServer(load_scenario(scenario), port=port, model=model)
        server.serve(lambda: _say(server.base_url))
    for each in server.sessions:
        answered = f"{each.calls} calls answered"
        _say(f"session {each.name}: {answered}, {len(each.unplayed)} answers left")


def record(
    scenario: Path, cassette: Path, day: date | None, *, overwrite: bool
) -> None:
    """Record a scenario's runs and print what came of each; ``day`` None is today."""
    with told("cassette record", *MISTAKES), _extra():
        from compat.wire import recording  # noqa: PLC0415  # an extra's

        day = day or datetime.now(UTC).date()
        found = recording.record(scenario, cassette, day=day, overwrite=overwrite)
    for number, outcome in enumerate(found.outcomes, 1):
        _say(f"run {number}: {outcome}")
    _say(f"{found.entry.interactions} exchanges in {cassette.name}")


def replay(cassette: Path) -> None:
    """Play a cassette's own requests; raises typer.Exit if they do not play."""
    with told("cassette replay", *MISTAKES), _extra():
        from compat.wire.replay import (  # noqa: PLC0415  # an extra's
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
