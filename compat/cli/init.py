"""``refengine init migration|engine|driver [DIR]``: files that run at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from compat.cli.command import argument, group, option, refusing
from compat.cli.dialect_skeletons import DIALECT_ENGINES, DIALECT_OF, DOOR
from compat.cli.migration_skeleton import MIGRATION
from compat.cli.skeletons import DOORS, ENGINES
from compat.cli.values import PATH, one_of
from compat.drivers.skeleton import BUILDS, COMMANDS, LANGUAGES, driver_files
from compat.verdicts.exit_codes import OK

app = group("Write a skeleton to start from.")


class AlreadyThereError(ValueError):
    """A file of the skeleton would overwrite one that is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"{path} is already there: name another folder")


@app.command()
@argument("folder", "where to; made if it is not there", PATH, default="migration")
def migration(folder: Path) -> int:
    """Write old.py, new.py, migration.toml and a test, which can be checked at once.

    Exit codes: 0 written, 2 a file is already there, or cannot be written.
    """
    checked = f"{folder / 'old.py'} {folder / 'new.py'}"
    return _write(folder, MIGRATION, f"migrate check {checked}")


@app.command()
@argument("folder", "where to; made if it is not there", PATH, default="conformance")
@option(
    "--for",
    "kind",
    about="the kind of engine behind the door",
    kind=one_of(*ENGINES, *DIALECT_ENGINES),
    default="async",
)
def engine(folder: Path, kind: str) -> int:
    """Write a door to an engine, a small engine behind it, a test and a CI workflow.

    The engine is judged at once by "refengine conform"; put yours in its place.

    Exit codes: 0 written, 2 a file is already there, or cannot be written.
    """
    if kind in DIALECT_ENGINES:
        asked = f"conform {folder / DOOR} --dialect {DIALECT_OF[kind]}"
        return _write(folder, DIALECT_ENGINES[kind], asked)
    return _write(folder, ENGINES[kind], f"conform {folder / DOORS[kind]}")


@app.command()
@argument("folder", "where to; made if it is not there", PATH, default="driver")
@option(
    "--language",
    about="what it is written in",
    kind=one_of(*LANGUAGES),
    default="python",
)
def driver(folder: Path, language: str) -> int:
    """Write a driver: a program that plays an agent engine in another process.

    It speaks the protocol already: put your engine in the place of its loop.

    Exit codes: 0 written, 2 a file is already there, or cannot be written.
    """
    command = COMMANDS[language].format(folder=folder)
    build = BUILDS.get(language, "").format(folder=folder)
    checked = f"driver check '{command}'"
    return _write(folder, driver_files(language), checked, build)


def _write(
    folder: Path, files: Mapping[str, str], following: str, first: str = ""
) -> int:
    with refusing("init", AlreadyThereError, OSError):
        write(folder, files)
    click.echo(f"wrote {', '.join(files)} to {folder}")
    if first:
        click.echo(f"first: {first}")
    click.echo(f"next: refengine {following}")
    return OK


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write a skeleton; raises AlreadyThereError before anything is written."""
    for name in files:
        if (folder / name).exists():
            raise AlreadyThereError(folder / name)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
