"""Pages of the site that are made of what the code says: nobody writes them twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import click

import refengine
from compat.cli.main import COMMANDS
from compat.profiles.kinds import KINDS, ProfileKind, meanings

WIDTH: Final = 80
ABOUT_POSTURES: Final = (
    "A posture is a point where engines legitimately differ; a profile chooses an"
    " option of each. `refengine profile diff A B` shows how two differ, with a run as"
    " proof."
)
STUB: Final = Path(refengine.__file__).with_name("__init__.pyi")
"""Where each public name of the engine comes from; at run time it is loaded late."""


def made_pages() -> Iterator[tuple[str, str]]:
    """Yield each page that is made: where the site has it, and its Markdown."""
    yield "reference/commands.md", commands()
    yield "reference/profiles.md", profiles()
    yield "reference/refengine.md", engine_names()
    testing = "# refengine.testing\n\n::: refengine.testing\n"
    yield "reference/testing.md", testing


def engine_names() -> str:
    """Return the public names of ``refengine``, module by module, to be filled in."""
    parts = ["# refengine", "Each of these is imported from `refengine` itself."]
    for node in ast.parse(STUB.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            parts.extend(f"::: {node.module}.{each.name}" for each in node.names)
    return "\n\n".join(parts) + "\n"


def commands() -> str:
    """Return every command with every option, as its help shows them."""
    parts = ["# Commands", "What `--help` says of each."]
    for name, (module, about) in COMMANDS.items():
        parts.append(f"## {name}\n\n{about[0].upper()}{about[1:]}.")
        for line, command in _spoken(name, import_module(module).app):
            context = click.Context(
                command, info_name=f"refengine {line}", terminal_width=WIDTH
            )
            title = f"### {line}\n\n" if line != name else ""
            parts.append(f"{title}```text\n{command.get_help(context)}\n```")
    return "\n\n".join(parts) + "\n"


def _spoken(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield the lines that run something, with their commands."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    for part, each in command.commands.items():
        yield from _spoken(f"{name} {part}", each)


def profiles() -> str:
    """Return every posture of every kind of profile: what it decides, and who how."""
    parts = [
        "# Profiles and postures",
        ABOUT_POSTURES,
    ]
    for kind in KINDS:
        parts.append(f"## {kind.title[0].upper()}{kind.title[1:]}")
        parts.extend(_postures(kind))
    return "\n\n".join(parts) + "\n"


def _postures(kind: ProfileKind) -> Iterator[str]:
    for posture, meaning in meanings(kind.of).items():
        chosen: dict[str, list[str]] = {}
        for each in kind.profiles:
            chosen.setdefault(str(getattr(each, posture)), []).append(each.name)
        rows = [f"| `{option}` | {', '.join(who)} |" for option, who in chosen.items()]
        yield "\n".join(
            (
                f"### {posture}\n",
                f"{meaning[0].upper()}{meaning[1:]}.\n",
                "| option | profiles |",
                "|---|---|",
                *rows,
            )
        )
