"""What a subject's code does beside calling tools: where it is heard of and put down.

Observations are effects of the session that is being played, each in its place and with
the call of a tool in which it came about, as those of ``world.effect`` are; only what
the subject's own code did is one. What Python is about to do is heard of by its audit
events: a hook can refuse it, by raising, and can never be taken away, so there is one
for the process, and a table that says who hears of which event.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal, TypeAlias

import refengine
from refengine.chain import SCOPE
from refengine.messages import Json
from refengine.testing.loading import ENVIRONMENTS, Own
from refengine.testing.recorder import Recorder
from refengine.testing.world import CALLING

DOOR: Final = "door"
"""The key that tells a side door's effect from one that ``world.effect`` was told."""

SideDoor: TypeAlias = Literal["log", "warning", "print", "file", "socket", "program"]
Origin: TypeAlias = Literal["own", "passing", "other", "never", "setup"]

SPEAKING: Final = frozenset(("logging", "warnings", "traceback"))
"""Modules of Python that print what was put down by another door already."""
PASSING: Final = frozenset(("rich", "click", "structlog"))
"""Packages that print on behalf of who calls them."""
EXECUTOR: Final = "asyncio_"
"""What the names of an event loop's own threads begin with: it waits there for names
that somebody asked for in a coroutine, which is in no stack then."""


IMPORTING: Final = "<frozen importlib"
"""How the names begin of what Python itself imports with."""


class SideDoors:
    """Takes what came through a side door, if the subject's own code opened it.

    With ``everything`` also what frameworks put down.
    """

    def __init__(self, *, everything: bool = False) -> None:
        self.everything = everything
        self.recorder: Recorder | None = None
        self.own: Own | None = None
        self._origins: dict[str, Origin] = {}
        self._python = sysconfig.get_path("stdlib")

    def put_down(self, name: SideDoor, data: Mapping[str, Json]) -> None:
        """Put down an effect; outside of a session, as at import, there is none."""
        if self.recorder is not None:
            effect = {"name": name, "data": {DOOR: True, **data}}
            self.recorder.add("effect", effect, self.call_id)

    @property
    def call_id(self) -> str | None:
        """The call of a tool that is being made here."""
        scope = SCOPE.get(None)
        return CALLING.get() if scope is None else scope.call_id

    def innermost(self, frame: FrameType | None) -> bool:
        """Tell whether own code is what did this, whatever of Python is in between."""
        counted = {"own", "other"} if self.everything else {"own"}
        while frame is not None:
            origin = self._origin(frame.f_code.co_filename)
            if origin != "passing":
                return origin in counted
            frame = frame.f_back
        return False

    def among(self, frame: FrameType | None) -> bool:
        """Tell whether own code is anywhere in the stack, so that this is its doing."""
        if self.everything or threading.current_thread().name.startswith(EXECUTOR):
            return True
        files = (each.f_code.co_filename for each in outwards(frame))
        # What a setup put around own code does by itself, called by that.
        found = (each for each in map(self._origin, files) if each in {"own", "setup"})
        return next(found, None) == "own"

    def reached(self, name: SideDoor, data: Mapping[str, Json]) -> None:
        """Put down what own code reached outside.

        Not what an import reaches, nor what a package does for itself: that is done
        once in a process, so in one session and not in the next.
        """
        frame = caller(1)
        files = (each.f_code.co_filename for each in outwards(frame))
        if self.innermost(frame) and not any(map(_imports, files)):
            self.put_down(name, data)

    def _origin(self, file: str) -> Origin:
        found = self._origins.get(file)
        if found is None:
            found = self._origins[file] = self._new_origin(file)
        return found

    def _new_origin(self, file: str) -> Origin:
        if file.startswith(("<", f"{_HERE}/")):
            return "passing"
        if self.own is not None and self.own.name(file) is not None:
            return "own"
        if self._is_setup(file):
            return "setup"
        parts = file.replace("\\", "/").split("/")
        for packages in ENVIRONMENTS.intersection(parts):
            top = parts[parts.index(packages) + 1]
            return "passing" if top in PASSING else "other"
        return self._of_python(file)

    def _is_setup(self, file: str) -> bool:
        return self.own is not None and self.own.setup == os.path.realpath(file)

    def _of_python(self, file: str) -> Origin:
        if file.startswith(f"{_HARNESS}/"):
            return "never"
        if not file.startswith(self._python):
            return "other"
        below = file[len(self._python) :].lstrip("/\\")
        speaks = below.split("/")[0].removesuffix(".py") in SPEAKING
        return "never" if speaks else "passing"


_HERE: Final = str(Path(__file__).parent)
_HARNESS: Final = str(Path(refengine.__file__).parent)


def _imports(file: str) -> bool:
    return file.startswith(IMPORTING)


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame, what called it, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def caller(depth: int = 1) -> FrameType:
    """Return the frame that called the caller of this, or one further out."""
    return sys._getframe(depth + 1)  # noqa: SLF001  # only the stack knows who it is


# Audit events


Hear: TypeAlias = "Callable[[tuple[Any, ...]], None]"
"""Is given the arguments of an event; what it raises is raised where that happens."""


def hear(*tables: Mapping[str, Hear]) -> None:
    """Have each event of the tables heard of, from now on, in their order."""
    # Called for every event there is, so it does nothing but to look.
    events = {event for table in tables for event in table}
    heard = {
        event: [table[event] for table in tables if event in table] for event in events
    }.get

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        functions = heard(event)
        if functions is not None:
            for function in functions:
                function(arguments)

    sys.addaudithook(hook)


# Texts: what is the same in every session of one that somebody may read later. Log
# lines and files carry the time, ids and addresses of objects, which are other ones in
# each run: a subject that differs from itself only there would not be comparable. Only
# a time of today is one of now; others are data.


DAY: Final = 86_400
VOLATILE: Final = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?P<clock>\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b)"
    r"|(?P<seconds>\b1\d{9}(?:\.\d+)?\b)"
    r"|(?P<millis>\b1\d{12}(?:\.\d+)?\b)"
    r"|(?P<uuid>\b[\da-f]{8}-?[\da-f]{4}-?4[\da-f]{3}-?[89ab][\da-f]{3}-?[\da-f]{12}\b)"
    r"|(?P<address>\b0x[\da-f]{6,}\b)"
)
TOOK: Final = re.compile(
    r"((?:duration|elapsed|latency|took)\w{0,40}[\"']?\s*[:=]?\s*)"
    r"\d+(?:\.\d+)?(?:e-\d+)?"
    r"|()(?<![\w.])\d+\.\d{2,}(?= ?(?:s|secs?|seconds)\b)"
    r"|()(?<![\w.])\d+\.\d+(?= ?(?:ms|us|µs|milliseconds|microseconds)\b)",
    re.IGNORECASE,
)
"""How long something took, by measure: a pause that was chosen has few digits."""
NEAR: Final = 5
"""Seconds between a time of day and now, at most."""


def steady(text: str) -> str:
    """Return a text in which what is of this moment is named by its kind."""
    return TOOK.sub(_measured, VOLATILE.sub(_named, text))


def _measured(found: re.Match[str]) -> str:
    return f"{found[1] or ''}<duration>"


def _named(found: re.Match[str]) -> str:
    kind = str(found.lastgroup)
    return f"<{kind}>" if _is_of_now(kind, found[kind]) else found[0]


def _is_of_now(kind: str, text: str) -> bool:
    now = time.time()
    if kind in {"seconds", "millis"}:
        return abs(float(text) / (1 if kind == "seconds" else 1000) - now) < DAY
    if kind == "date":
        days = (time.gmtime(now + day * DAY) for day in (-1, 0, 1))
        return text in {time.strftime("%Y-%m-%d", each) for each in days}
    if kind == "clock":
        hours, minutes, seconds = text.replace(",", ".").split(":")
        at = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        return any(_between(at, each) < NEAR for each in _times_of_day(now))
    return True


def _times_of_day(now: float) -> list[int]:
    both = time.gmtime(now), time.localtime(now)
    return [each.tm_hour * 3600 + each.tm_min * 60 + each.tm_sec for each in both]


def _between(one: float, other: float) -> float:
    """Return the seconds between two times of day, also around midnight."""
    apart = abs(one - other)
    return min(apart, DAY - apart)
