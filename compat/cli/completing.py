"""What a shell is told when its user presses Tab: commands, options, and names.

click does the talking with the shell; the names are looked up as lightly as can be,
since they are looked up at every key: nothing of the harness is loaded for them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem, shell_complete

VARIABLE: Final = "_REFENGINE_COMPLETE"
"""click's own name for it: set by what the user puts into the shell's start file."""
_ID: Final = re.compile(r'^id = "([A-Z]+-\d+)"', re.MULTILINE)


class CommandTable(click.Group):
    """The table of commands, each loaded when it is completed further."""

    def __init__(self, table: Mapping[str, tuple[str, str]]) -> None:
        super().__init__("refengine")
        self._table = table

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's
        """Return a command, loaded now."""
        if cmd_name not in self._table:
            return None
        found: click.Command = import_module(self._table[cmd_name][0]).app
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's
        """Return the names of all commands."""
        return list(self._table)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the commands that begin so, without loading them."""
        return [
            CompletionItem(name, help=about)
            for name, (_, about) in self._table.items()
            if name.startswith(incomplete)
        ]


def complete(table: Mapping[str, tuple[str, str]]) -> int:
    """Answer a shell; return the exit code."""
    asked = os.environ[VARIABLE]
    return shell_complete(CommandTable(table), {}, "refengine", VARIABLE, asked)


def clause_ids() -> Iterator[str]:
    """Yield the families of clauses, and the ids."""
    found = _ID.findall(_text("property_tests", "contract.toml"))
    yield from dict.fromkeys(each.partition("-")[0] for each in found)
    yield from found


def profile_names() -> Iterator[str]:
    """Yield the names of profiles."""
    from refengine.profile import PROFILES

    yield from (each.name for each in PROFILES)


def any_profile_names() -> Iterator[str]:
    """Yield the names of profiles, of the engine and of the dialects."""
    from compat.profiles.kinds import KINDS

    yield from (each.name for kind in KINDS for each in kind.profiles)


def engine_names() -> Iterator[str]:
    """Yield the names of installed engines."""
    yield from sorted(each.name for each in entry_points(group="refengine.engines"))


def _text(package: str, name: str) -> str:
    """Return a file beside a package that is not imported for it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return ""
    return Path(spec.origin).with_name(name).read_text("utf-8")
