"""What to do about a divergence: keep what shows it, or say that it is meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from compat.verdicts.migration import Difference, Migration
from refengine.testing.subject_worlds.unusual import declarable
from refengine.testing.trace import MISSING

LONGEST: Final = 80
"""A longer text is not proposed for an allowance: nobody would read it there."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command line that keeps what shows a divergence, and what it does.

    It is "" where that was asked for already. ``case`` is NEW as ``migration.toml``
    names it, ``world`` the file that the command writes the world into.
    """

    command: str = ""
    does: str = ""
    case: str = "new.py"
    world: str = "world.json"

    def lines(self, found: Difference) -> Iterator[str]:
        """Yield the command, and what ``migration.toml`` says if it is meant."""
        if self.command:
            yield from (self.command, f"  {self.does}")
        yield "If it is meant, allow it in migration.toml:"
        yield f"  [[cases.{_toml(self.case)}.allow]]"
        yield f'  channel = "{found.channel}"'
        yield f"  path = {_toml(found.anywhere)}"
        for name, value in _narrower(found):
            yield f"  {name} = {_toml(value)}"
        yield f"  world = {_toml(self.world)}"
        yield '  reason = "..."'


def declarations(verdict: Migration) -> Iterator[str]:
    """Yield what to declare if no application has such a world as shows a divergence.

    Only where the sides run on two versions of one engine, which may do otherwise
    whatever a port does.
    """
    built = [each.frameworks for each in verdict.exercise.values()]
    of_one = len(built) == 2 and built[0].keys() == built[1].keys()  # both
    if verdict.world is None or not of_one or built[0] == built[1]:
        return
    for name, why in declarable(verdict.world, verdict.own_tools):
        yield f"If your application has no such world ({why}), declare it there:"
        yield f"  outside = [{_toml(name)}]"


def _narrower(found: Difference) -> Iterator[tuple[str, str]]:
    """Yield what keeps an allowance from letting other texts of that place pass."""
    if found.role:
        yield "role", found.role
    for side, value in (("old", found.old), ("new", found.new)):
        if isinstance(value, str) and value != MISSING and len(value) <= LONGEST:
            yield side, value


def _toml(text: str) -> str:
    """Return a text as TOML has it, literally if that is easier to read."""
    if text.isprintable() and "'" not in text and {'"', "\\"} & {*text}:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
