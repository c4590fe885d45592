"""A child's pipes: bytes that are there, and what was printed for each call."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import select
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Final, TypeAlias, cast

Event: TypeAlias = tuple[int, int]
"""A descriptor, and what may happen there."""

KEPT: Final = 4096
"""Bytes that are kept of the beginning of what was printed, and of its end."""
READS: Final = 64
"""Reads that empty any pipe, if nobody fills it."""
LINES: Final = 3
"""Lines that are kept of what was printed for a call."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What was printed for a call: so many bytes, and the first lines of them."""

    size: int = 0
    lines: tuple[str, ...] = ()


def widen(pipe: int, size: int) -> None:
    """Have a pipe hold so many bytes, where the system knows how and allows it."""
    grow = getattr(fcntl, "F_SETPIPE_SZ", None)
    if grow is not None:
        with suppress(OSError):  # others of this user have too much already
            fcntl.fcntl(pipe, grow, size)


class PipeLog:
    """What came through the pipe of printed text, cut by the marks of replies."""

    def __init__(self, pipe: IO[bytes] | None, *, marked: bool) -> None:
        self._pipe = descriptor(pipe)
        self.descriptors = (self._pipe,)
        self.token = secrets.token_hex(8) if marked else ""
        self._mark = f"\0{self.token} ".encode()
        self._text = bytearray()
        self._lost = 0
        self._last_line = ""
        self._closed = False

    def hear(self) -> bool:
        """Take in what is there; let go of the middle of too much."""
        data = read(self._pipe)
        self._text += data or b""
        if len(self._text) > 4 * KEPT and (
            not self.token or self._mark not in self._text
        ):
            self._lost += len(self._text) - 2 * KEPT
            del self._text[KEPT:-KEPT]
        return bool(data)

    def wait(self, seconds: float) -> bytes:
        """Wait until something is printed, and return it; no call will have it."""
        poll([(self._pipe, select.POLLIN)], seconds)
        return read(self._pipe) or b""

    def printed(self, number: int) -> Printed:
        """Return what was printed for that call, which has been answered.

        More than a pipe holds may come meanwhile, and it may never end.
        """
        if not self.token:
            return Printed()
        mark = self._mark + b"%d\n" % number
        for _ in range(READS):
            if mark in self._text or not self.hear():
                break
        end = self._text.find(mark)
        if end < 0:
            return Printed()
        text = self._text[:end]
        del self._text[: end + len(mark)]
        size, self._lost = len(text) + self._lost, 0
        if not text:
            return Printed(size)
        lines = text.decode(errors="replace").splitlines()
        self._last_line = last_line(text) or self._last_line
        return Printed(size, tuple(line[:200] for line in lines[:LINES]))

    def rest(self) -> bytes:
        """Return what belongs to no call that was answered."""
        for _ in range(READS):
            if self._closed or not self.hear():
                break
        return bytes(self._text)

    def close(self) -> None:
        """Take in what is left: the pipe is about to be closed."""
        self.rest()
        self._closed = True

    def last_line(self) -> str:
        """Return the last line that was printed."""
        return last_line(self.rest()) or self._last_line


class FileLog:
    """A file in which what a child prints can be looked up."""

    descriptors = ()
    token = ""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def hear(self) -> bool:
        """Take in nothing: it is in the file."""
        return False

    def printed(self, _number: int) -> Printed:
        """Return nothing: a file is not cut by calls."""
        return Printed()

    def rest(self) -> bytes:
        """Return the end of what was printed."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(size - KEPT, 0))
        return self._file.read()

    def close(self) -> None:
        """Leave the file to whoever opened it."""

    def last_line(self) -> str:
        """Return the last line that was printed."""
        return last_line(self.rest())


def poll(events: Iterable[Event], seconds: float) -> Sequence[int]:
    """Return at which pipes something happens, within that time."""
    # select() cannot take descriptors from 1024 on, and a selector is one more.
    polled = select.poll()
    for event in events:
        polled.register(*event)
    return [fd for fd, _ in polled.poll(max(seconds, 0) * 1000 + 1)]


def read(fd: int) -> bytes | None:
    """Return what is there, b"" at the end, None if there is nothing yet."""
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return None


ERROR: Final = re.compile(
    r"(?:Uncaught )?(?:[A-Za-z_][\w.$]*(?:Error|Exception|Panic)(?: \[\w+\])?\b"
    r"|panic:|fatal error:|thread '.*' panicked)"
)
"""How a line begins that says what went wrong, in the languages of programs."""
BEHIND: Final = re.compile(
    r"\s|$|[})\]]|at |goroutine \d|created by |\[signal |exit status |Node\.js v"
    r"|[\w./*()\[\]-]+\(.*\)$"
)
"""How lines look that a runtime prints behind that: a stack, and its own version."""


def last_line(text: bytes | bytearray) -> str:
    """Return the line of a log that says what happened last; "" if there is none.

    Node and Go print a stack and more behind their error, which says nothing by itself.
    """
    lines = text.decode(errors="replace").strip().splitlines()
    for each in reversed(lines):
        if ERROR.match(each.strip()):
            return each.strip()
        if not BEHIND.match(each):
            break
    return lines[-1] if lines else ""


def descriptor(pipe: IO[bytes] | None) -> int:
    """Return the descriptor of a child's pipe."""
    return cast("IO[bytes]", pipe).fileno()  # it was asked for as a pipe
