"""Where a side door's observations go, and whose code was the one that opened it.

They are effects of the session that is being played, each in its place and with the
call of a tool in which it came about, as those of ``world.effect`` are.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Final, Literal, TypeAlias

import refengine
from refengine.chain import SCOPE
from refengine.messages import Json
from refengine.testing.loading import Own
from refengine.testing.recorder import Recorder
from refengine.testing.world import CALLING

DOOR: Final = "door"
"""The key that tells a side door's effect from one that ``world.effect`` was told."""

SideDoor: TypeAlias = Literal["log", "warning", "print", "file", "socket"]
Origin: TypeAlias = Literal["own", "passing", "other", "never"]

SPEAKING: Final = frozenset(("logging", "warnings", "traceback"))
"""Modules of Python that print what was put down by another door already."""
PASSING: Final = frozenset(("rich", "click", "structlog"))
"""Packages that print on behalf of who calls them."""
EXECUTOR: Final = "asyncio_"
"""What the names of an event loop's own threads begin with: it waits there for names
that somebody asked for in a coroutine, which is in no stack then."""


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
        files = (each.f_code.co_filename for each in _outwards(frame))
        return any(self._origin(file) == "own" for file in files)

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
        parts = file.replace("\\", "/").split("/")
        for packages in ("site-packages", "dist-packages"):
            if packages in parts:
                top = parts[parts.index(packages) + 1]
                return "passing" if top in PASSING else "other"
        if file.startswith(f"{_HARNESS}/"):
            return "never"
        if not file.startswith(self._python):
            return "other"
        below = file[len(self._python) :].lstrip("/\\")
        speaks = below.split("/")[0].removesuffix(".py") in SPEAKING
        return "never" if speaks else "passing"


_HERE: Final = str(Path(__file__).parent)
_HARNESS: Final = str(Path(refengine.__file__).parent)


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def caller(depth: int = 1) -> FrameType:
    """Return the frame that called the caller of this, or one further out."""
    return sys._getframe(depth + 1)  # noqa: SLF001  # only the stack knows who it is
