"""The worlds of vendors' traffic that tests play: shipped ones, and a folder's."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from compat.models.derive import INDEX, Derived, cassettes, derive, read_derived
from compat.models.errors import TrafficError
from compat.models.scripts import RecordedSession
from compat.wire.errors import WireError

ROOT: Final = Path(__file__).parent.parent
SHIPPED: Final = ROOT / "cassettes" / "derived"
FOLDER: Final = os.environ.get("REFENGINE_CASSETTES", "")
"""Where the cassettes are that scripts are derived from; empty if they are not here."""


def shipped() -> list[Derived]:
    """Return the derived scripts of the repository, by file."""
    paths = [each for each in SHIPPED.rglob("*.json") if each.name != INDEX]
    return [read_derived(each.read_text("utf-8"), each.name) for each in sorted(paths)]


def files_of_folder() -> list[Path]:
    """Return the cassettes of the folder; none without a folder."""
    return cassettes(Path(FOLDER)) if FOLDER else []


def of_folder() -> list[Derived]:
    """Return what the cassettes of the folder are read into.

    Those that cannot be read have a test of their own.
    """
    found: list[Derived] = []
    for path in files_of_folder():
        with suppress(TrafficError, WireError):
            found.append(derive(path, Path(FOLDER)))
    return found


def named(found: list[Derived]) -> dict[str, RecordedSession]:
    """Return the sessions by the name of their file and their first exchange."""
    return {
        f"{each.file}:{session.exchanges[0]}": session
        for each in found
        for session in each.sessions
    }


def worlds() -> dict[str, RecordedSession]:
    """Return all sessions; those of the folder stand for shipped ones of their name."""
    return {**named(shipped()), **named(of_folder())}
