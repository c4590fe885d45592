"""The page of formats: every kind of file that a command reads or writes.

They are data, ``formats.toml``; a test holds them against the commands.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import click
from pydantic import TypeAdapter

from compat.cli import values
from compat.cli.main import COMMANDS
from property_tests.registry import Frozen, read_entry

PATHS: Final = (
    *(values.PATH, values.FILE, values.FILE_THERE, values.FOLDER),
    *(values.OUTPUT, values.OUTPUT_FOLDER),
)
FILE: Final = Path(__file__).with_name("formats.toml")
ABOUT: Final = (
    "What is read and written, as files and as what commands print by `--json`.",
    (
        "A version is a number of its own, apart from that of the package. It goes "
        "up when a file that was right is no longer read as it was, or when a key "
        "means something else; CHANGELOG says so under *Changed*. A key that is "
        "added does not count: a program passes over what it does not know. "
        "refengine itself refuses keys that it does not know in what it is given, "
        "and a version that it does not know by name. Where there is no version, "
        "the package's own is the one: read it by the release that wrote it. Pages "
        "and tables for people (HTML, Markdown, SVG) have no shape to rely on."
    ),
)


class FileFormat(Frozen):
    """One kind of file, or one folder of them; ``formats.toml`` explains the keys."""

    name: str
    about: str
    version: str
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    shape: str = ""
    model: str = ""
    keys: tuple[str, ...] = ()

    @property
    def schema_name(self) -> str:
        """What the file of its schema is called on the site."""
        return f"{self.name.lower().replace(' ', '-')}.schema.json"


def read_formats() -> tuple[FileFormat, ...]:
    """Return all of them, as ``formats.toml`` has them; raises ContractError."""
    data = tomllib.loads(FILE.read_text("utf-8"))
    return tuple(read_entry(FileFormat, each, FILE.name) for each in data["format"])


def schemas_made() -> Iterator[tuple[str, str]]:
    """Yield the schema of each format that a class has: where, and the text."""
    for each in read_formats():
        if each.model:
            module, _, name = each.model.partition(":")
            of = TypeAdapter[object](getattr(import_module(module), name))
            about = {"$id": f"urn:refengine:{each.schema_name}", "title": each.name}
            schema = {"description": each.about, **of.json_schema(), **about}
            text = json.dumps(schema, indent=2, sort_keys=True) + "\n"
            yield f"reference/{each.schema_name}", text


def places() -> Iterator[str]:
    """Yield each option and argument that is a path, and each ``--as-json``."""
    for line, command in spoken_lines():
        for each in command.params:
            if each.type in PATHS or each.opts == ["--as-json"]:
                given = isinstance(each, click.Argument)
                name = (each.metavar or each.name or "").upper()
                yield f"{line} {name if given else each.opts[0]}"


def spoken_lines() -> Iterator[tuple[str, click.Command]]:
    """Yield the lines that run something, with their commands."""
    for name, (module, _) in COMMANDS.items():
        yield from spoken(name, import_module(module).app)


def spoken(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield the same of one command and those below it."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    for part, each in command.commands.items():
        yield from spoken(f"{name} {part}", each)


def formats() -> str:
    """Return the page of formats as Markdown."""
    parts = ["# Formats and schemas", *ABOUT]
    for each in read_formats():
        lines = [f"## {each.name}\n", f"{each.about}\n"]
        for title, used in (("Written by", each.writes), ("Read by", each.reads)):
            if used:
                named = ", ".join(f"`refengine {place}`" for place in used)
                lines.append(f"- {title} {named}")
        lines.append(f"- Version: {each.version.removesuffix('.')}.")
        made = f"[{each.schema_name}]({each.schema_name})" if each.model else ""
        if shape := ", ".join(filter(None, (made, each.shape))):
            lines.append(f"- Shape: {shape}.")
        if each.keys:
            lines.append(f"- Keys: {', '.join(f'`{key}`' for key in each.keys)}.")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
