"""``refengine init [migration|engine|driver|skill] [DIR]``: files that serve at once.

Alone it asks at a terminal what to write, and shows the line that would not have asked.

What is written stands in ``skeletons``, a folder for each kind. A small engine stands
behind each door and in each driver, and is replaced by one's own. Every file is run by
a test; what a skill tells is held against the commands.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from compat.cli.command import (
    CommandGroup,
    LineArgument,
    argument,
    is_given,
    option,
    refuse,
    refusing,
)
from compat.cli.values import PATH, one_of
from compat.verdicts.exit_codes import OK


class _Asking(CommandGroup):
    """Commands of which one is chosen by answers, where nothing is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a line; ask for it at a terminal."""
        if not args and not ctx.resilient_parsing and sys.stdin.isatty():
            args = self._asked()
        return super().parse_args(ctx, args)

    def _asked(self) -> list[str]:
        for name, each in self.commands.items():
            click.echo(f"  {name:<10} {each.get_short_help_str(limit=300)}")
        name = click.prompt("Write which", type=click.Choice([*self.commands]))
        given = [name]
        for asked in self.commands[name].params:
            given += _answered(asked, click.Context(self.commands[name]))
        click.echo(f"without questions: refengine init {shlex.join(given)}")
        return given


def _answered(asked: click.Parameter, context: click.Context) -> list[str]:
    """Return what is answered, as it stands on a line; what is rarely said is not."""
    default = asked.get_default(context)
    if not isinstance(default, str):
        return []
    if isinstance(asked, LineArgument):
        return [click.prompt(asked.about, default=default)]
    about, kind = getattr(asked, "help", ""), asked.make_metavar(context)
    return [f"{asked.opts[0]}={click.prompt(f'{about} ({kind})', default=default)}"]


app = _Asking(help="Write files to start from; asks which if none is named.")

MIGRATION: Final = ("old.py", "new.py", "migration.toml", "test_migration.py")
SKILL: Final = "SKILL.md"
SKILL_FOLDER: Final = "skills/migrating-agent-code"
"""The folder of a skill is called as the skill is."""
JUDGED: Final = ("test_conformance.py", "conformance.yml")
"""What stands beside each door."""


@dataclass(frozen=True, slots=True)
class EngineSkeleton:
    """A door, what stands behind it, and how the two are judged."""

    behind: str
    door: str = "door.py:Door"
    """What names the engine, from its folder."""
    dialect: str = ""
    extras: str = "testing"

    @property
    def names(self) -> tuple[str, ...]:
        """The files, in the order in which they are told."""
        return self.behind, "door.py", *JUDGED


@dataclass(frozen=True, slots=True)
class DriverSkeleton:
    """A driver: its files, and the commands that start and, if need be, build it."""

    names: tuple[str, ...]
    command: str
    build: str = ""


ENGINES: Final[Mapping[str, EngineSkeleton]] = MappingProxyType(
    {
        "async": EngineSkeleton("loop.py"),
        "langchain": EngineSkeleton(
            "service.py", "door.py:door", extras="testing,langchain"
        ),
        "loop": EngineSkeleton("streams.py", dialect="stream-loop"),
        "callbacks": EngineSkeleton("sessions.py", dialect="callbacks"),
    }
)
"""Kinds of engines: with hooks that take what ours take; agents that ``create_agent``
of LangChain makes; engines of a dialect."""
DRIVERS: Final[Mapping[str, DriverSkeleton]] = MappingProxyType(
    {
        "python": DriverSkeleton(("driver.py",), "python {folder}/driver.py"),
        "go": DriverSkeleton(
            ("driver.go", "go.mod"),
            "{folder}/driver",
            "go build -C {folder} -o driver",
        ),
        "typescript": DriverSkeleton(
            ("driver.ts", "package.json", "tsconfig.json"),
            "node {folder}/driver.js",
            "cd {folder} && npm install && npm run build",
        ),
    }
)
"""Drivers by the language that they are written in."""


@app.command()
@argument("folder", "where to; made if it is not there", PATH, default="migration")
@option(
    "--sides",
    about="files that are there: write migration.toml for them, beside OLD",
    nargs=2,
    metavar="OLD NEW",
)
def migration(folder: Path, sides: tuple[str, str] | None) -> int:
    """Write old.py, new.py, migration.toml and a test, which can be checked at once.

    Exit codes: 0 written, 2 a file is already there, or cannot be written.
    """
    if sides:
        beside = folder if is_given("folder") else Path(sides[0]).parent
        return _write(beside, _declared(sides, beside), f"migrate check --all {beside}")
    checked = f"{folder / 'old.py'} {folder / 'new.py'}"
    return _write(folder, migration_files(), f"migrate check {checked}")


def _declared(sides: tuple[str, str], folder: Path) -> Mapping[str, str]:
    """Return ``migration.toml`` for two files, as it names them from its folder."""
    for side in sides:
        if not Path(side).is_file():
            refuse("init", f"there is no file {side}: --sides takes two that are there")
    old, new = (Path(os.path.relpath(each, folder)).as_posix() for each in sides)
    name = "migration.toml"
    return {name: _text(f"migration/{name}", old=old, new=new), **_schema()}


def _schema() -> Mapping[str, str]:
    """Return the schema that the first line of ``migration.toml`` names, as a file.

    It stands beside it, since an editor reads a path or an address, and no package.
    """
    from compat.migration.settings import SCHEMA, schema_text

    return {SCHEMA: schema_text()}


@app.command()
@argument("folder", "where to; made if it is not there", PATH, default="conformance")
@option(
    "--for",
    "kind",
    about="the kind of engine behind the door",
    kind=one_of(*ENGINES),
    default="async",
)
def engine(folder: Path, kind: str) -> int:
    """Write a door to an engine, a small engine behind it, a test and a CI workflow.

    The engine is judged at once by "refengine conform"; put yours in its place.

    Exit codes: 0 written, 2 a file is already there, or cannot be written.
    """
    chosen = ENGINES[kind]
    spoken = f" --dialect {chosen.dialect}" if chosen.dialect else ""
    asked = f"conform {folder / chosen.door}{spoken}"
    return _write(folder, engine_files(kind), asked)


@app.command()
@argument("folder", "where to; made if it is not there", PATH, default="driver")
@option(
    "--language",
    about="what it is written in",
    kind=one_of(*DRIVERS),
    default="python",
)
def driver(folder: Path, language: str) -> int:
    """Write a driver: a program that plays an agent engine in another process.

    It speaks the protocol already: put your engine in the place of its loop.

    Exit codes: 0 written, 2 a file is already there, or cannot be written.
    """
    chosen = DRIVERS[language]
    checked = f"driver check '{chosen.command.format(folder=folder)}'"
    build = chosen.build.format(folder=folder)
    return _write(folder, driver_files(language), checked, build)


@app.command()
@argument("folder", "where to; made if it is not there", PATH, default=SKILL_FOLDER)
def skill(folder: Path) -> int:
    """Write a SKILL.md that tells a coding agent how to migrate with the check.

    It says how to run the check until it holds, what must not be done to get there, and
    what may be called verified, verified weakly, or unverified.

    Exit codes: 0 written, 2 a file is already there, or cannot be written.
    """
    return _write(folder, {SKILL: _text(f"skill/{SKILL}")}, "migrate check --help")


def migration_files() -> Mapping[str, str]:
    """Return the files of a migration by name; its first check says "holds"."""
    written = {
        each: _text(f"migration/{each}", old="old.py", new="new.py")
        for each in MIGRATION
    }
    return {**written, **_schema()}


def engine_files(kind: str) -> Mapping[str, str]:
    """Return the files of one of ``ENGINES`` by name."""
    of = ENGINES[kind]
    return {
        name: _text(
            f"{'engine' if name in JUDGED else kind}/{name}",
            door=of.door,
            dialect=of.dialect,
            extras=of.extras,
        )
        for name in of.names
    }


def driver_files(language: str) -> Mapping[str, str]:
    """Return the files of one of ``DRIVERS`` by name."""
    return {each: _text(f"{language}/{each}") for each in DRIVERS[language].names}


def _text(name: str, **values: str) -> str:
    """Return what is written for a file of a skeleton."""
    from compat.report.pages import filled

    return filled("compat.cli", f"skeletons/{name}.j2", values)


def _write(
    folder: Path, files: Mapping[str, str], following: str, first: str = ""
) -> int:
    if folder.is_file():
        refuse("init", f"{folder} is a file: name a folder")
    with refusing("init", OSError):
        for name in files:
            if (folder / name).exists():
                refuse("init", f"{folder / name} is already there: name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
    click.echo(f"wrote {', '.join(files)} to {folder}")
    if first:
        click.echo(f"first: {first}")
    click.echo(f"next: refengine {following}")
    return OK
