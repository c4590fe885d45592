"""Options of ``refengine migrate check`` for sides that are programs of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from compat.cli.command import (
    PROGRAMS_PART,
    option,
)
from compat.cli.values import PATH, Kind

if TYPE_CHECKING:
    from compat.migration.programs.checking import CheckedPrograms
    from compat.migration.programs.commands import ProgramCommand

TURNS: Final = ("lines", "sessions", "http")
SIDES: Final = ("old", "new")
F = TypeVar("F", bound=Callable[..., int])


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """Both commands as they were given, and how each reads its turns."""

    old: str | None = None
    new: str | None = None
    turns: tuple[tuple[str, str], ...] = ()
    services: tuple[str, ...] = ()
    source: Path | None = None

    def __bool__(self) -> bool:
        return any((self.old, self.new, self.turns, self.services, self.source))

    def wrong(self, others: bool) -> str | None:  # one line of options
        """Return what is wrong with the line; ``others`` tells of other sides on it."""
        if not self:
            return None
        if self.old is None or self.new is None:
            return "give both --old-cmd and --new-cmd"
        if others:
            return (
                "--old-cmd and --new-cmd go with --require, --settings, --examples,"
                " --seed, --timeout, --domain, --env, --worlds, --turns and options"
                " for files alone; an observer of a program is turned on by its"
                " command: --new-cmd 'NAME=VALUE COMMAND'"
            )
        return None

    @property
    def commands(self) -> tuple[ProgramCommand, ProgramCommand]:
        """Both sides; raises RefError."""
        from compat.migration.programs.commands import parse_command

        found = [
            parse_command(text or "", self._turns_of(side))
            for side, text in zip(SIDES, (self.old, self.new), strict=True)
        ]
        return found[0], found[1]

    def _turns_of(self, side: str) -> Any:  # noqa: ANN401  # one of TURNS
        own = [how for where, how in self.turns if where in {"", side}]
        return own[-1] if own else TURNS[0]


def turns_of(text: str) -> tuple[str, str]:
    """Return side and form of turns; raises ValueError."""
    side, _, how = text.rpartition("=")
    if how not in TURNS or side not in {"", *SIDES}:
        raise ValueError(
            f"{text!r} says no way to read turns: write lines, sessions or http, for"
            " one side old=sessions"
        )
    return side, how


def spoken_lines(found: CheckedPrograms) -> Iterator[str]:
    """Yield which interfaces the sides speak, and what was not compared of them."""
    for side, names in found.interfaces.items():
        yield f"{side} speaks {', '.join(names)}"
    for each in found.uncompared:
        yield f"not compared: {each.name} of {each.side} ({each.reason})"
    if not found.closed:
        yield "sockets to other addresses were not refused: see docs/programs.md"


def spoken_json(found: CheckedPrograms) -> dict[str, object]:
    """Return the same for the header of a report."""
    return {
        "sockets": "refused" if found.closed else "open",
        "interfaces": {side: list(names) for side, names in found.interfaces.items()},
        "uncompared": [
            {"side": each.side, "name": each.name, "reason": each.reason}
            for each in found.uncompared
        ],
    }


def of_programs(check: F) -> F:
    """Add the options of programs: its parameter ``programs``."""

    @option(
        "--old-cmd",
        about="OLD as a program of its own",
        metavar="COMMAND",
        part=PROGRAMS_PART,
    )
    @option(
        "--new-cmd",
        about="NEW as a program of its own, such as 'node agent.mjs'",
        metavar="COMMAND",
        part=PROGRAMS_PART,
    )
    @option(
        "--turns",
        about="how programs are given turns: lines, with a start for each session (the"
        " default), sessions, many in one start, or http, posted to them; for one side"
        " alone: old=sessions",
        kind=Kind("turns", turns_of),
        multiple=True,
        part=PROGRAMS_PART,
    )
    @option(
        "--service",
        about="the variable in which programs find the address of a played service",
        metavar="NAME",
        multiple=True,
        part=PROGRAMS_PART,
    )
    @option(
        "--source",
        about="a folder with the programs' source, whose words worlds use",
        kind=PATH,
        metavar="DIR",
        part=PROGRAMS_PART,
    )
    @wraps(check)
    def with_programs(
        *,
        old_cmd: str | None,
        new_cmd: str | None,
        turns: tuple[tuple[str, str], ...],
        service: tuple[str, ...],
        source: Path | None,
        **more: Any,  # noqa: ANN401  # the other options of the command
    ) -> int:
        given = ProgramOptions(old_cmd, new_cmd, turns, service, source)
        return check(programs=given, **more)

    return cast("F", with_programs)
