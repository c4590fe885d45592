"""What own code does of which its process may end: told before it does so.

Whoever is killed says nothing afterwards, and how it ended says little: a process that
kills itself, that replaces itself with another program and that has too little time
left look alike from outside. Python's audit events come before each of these, so each
is told with the line of own code that does it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from refengine.testing.isolation.side_doors import (
    Hear,
    SideDoors,
    caller,
    outwards,
)

Tell: TypeAlias = "Callable[[Mapping[str, object]], None]"
"""Takes what is done, and whether that stays so ("lasts") for later sessions."""

ENDING: Final = ("AS", "CPU", "DATA", "STACK")
"""Limits of which a process may die."""


def nobody(_deed: Mapping[str, object]) -> None:
    """Tell nobody."""


class Deeds:
    """Hears of what may end the process, and tells it."""

    def __init__(self, doors: SideDoors, tell: Tell) -> None:
        self._doors = doors
        self._tell = tell
        self._limits = _limits()
        self.hooks: int = 0
        """So many audit hooks were added by own code, which nobody can take away."""

    @property
    def table(self) -> Mapping[str, Hear]:
        """Who hears of which event."""
        return {
            "os.kill": self._kills,
            "os.killpg": self._kills_group,
            "os.exec": self._replaces,
            "resource.setrlimit": self._limit,
            "sys.addaudithook": self._hooks,
        }

    def _kills(self, arguments: tuple[Any, ...]) -> None:
        pid, number = arguments
        group = os.getpgrp()
        if number and pid in {os.getpid(), os.getppid(), 0, -1, -group}:
            whose = "the process above it" if pid == os.getppid() else "its own process"
            self._told(f"it sends {_name(number)} to {whose}")

    def _kills_group(self, arguments: tuple[Any, ...]) -> None:
        group, number = arguments
        if number and group in {0, os.getpgrp()}:
            self._told(f"it sends {_name(number)} to its own group of processes")

    def _replaces(self, _arguments: tuple[Any, ...]) -> None:
        self._told("it replaces its process with another program (os.exec)")

    def _limit(self, arguments: tuple[Any, ...]) -> None:
        which, (limit, _) = arguments
        if which in self._limits:
            what = f"it sets the limit {self._limits[which]} of its process to {limit}"
            self._told(what, lasts=True)

    def _hooks(self, _arguments: tuple[Any, ...]) -> None:
        self.hooks += bool(self._place())

    def _told(self, what: str, *, lasts: bool = False) -> None:
        """Tell what own code does: the harness, too, ends its group at its end."""
        if place := self._place():
            self._tell({"what": f"{what}{place}", "lasts": lasts})

    def _place(self) -> str:
        """Return the innermost line of own code, "" where there is none."""
        own = self._doors.own
        if own is None:
            return ""
        for frame in outwards(caller()):
            if (name := own.name(frame.f_code.co_filename)) is not None:
                return f" ({name}, line {frame.f_lineno})"
        return ""


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _limits() -> Mapping[int, str]:
    if sys.platform == "win32":
        return {}
    import resource  # noqa: PLC0415  # not on every system

    names = (f"RLIMIT_{each}" for each in ENDING)
    return {getattr(resource, name): name for name in names}
