"""The parent's ends of a child's pipes: requests, replies, and what was printed.

Bytes become lines here, and nothing knows what a reply means.
"""

from __future__ import annotations

import os
import select
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO, Final, cast

from compat.migration.replies import Printed

KEPT: Final = 4096
"""Bytes that are kept of the beginning of what was printed, and of its end."""

PIPE: Final = 64
"""Reads that empty any pipe, if nobody fills it."""

LINES: Final = 3
"""Lines that are kept of what was printed."""


class Pipes:
    """All three; only ``wait_printed`` waits."""

    def __init__(self, process: subprocess.Popen[bytes], token: str) -> None:
        self._unsent: deque[bytes] = deque()
        self._half_sent = False
        self._reply = bytearray()
        self._heard = _Heard(token)
        self._in = descriptor(process.stdin)
        self._out = descriptor(process.stdout)
        self._print = descriptor(process.stderr)

    def send(self, line: bytes) -> None:
        """Put a line to those that are to be sent."""
        self._unsent.append(line)

    def take_back(self) -> int:
        """Take back the lines of which nothing has been sent; return how many."""
        count = max(len(self._unsent) - self._half_sent, 0)
        for _ in range(count):
            self._unsent.pop()
        return count

    def drop(self) -> None:
        """Send nothing more."""
        self._unsent.clear()

    def waits_for(self) -> Mapping[int, int]:
        """Return the pipes at which something may happen, and what."""
        wanted = {self._out: select.POLLIN, self._print: select.POLLIN}
        return {**wanted, self._in: select.POLLOUT} if self._unsent else wanted

    def move(self, fd: int) -> Sequence[bytearray] | None:
        """Write or read one pipe as far as it goes now.

        Returns the replies that are complete with it, or None when they have ended.
        """
        if fd == self._out:
            return self._read()
        if fd == self._in:
            self._write()
        else:
            self._heard.add(read(fd) or b"")
        return ()

    def _write(self) -> None:
        line = self._unsent[0]
        try:
            done = os.write(self._in, line)
        except BrokenPipeError:
            self._unsent.clear()  # why, is told when the replies end
            return
        self._half_sent = done < len(line)
        if self._half_sent:
            self._unsent[0] = line[done:]
        else:
            self._unsent.popleft()

    def _read(self) -> Sequence[bytearray] | None:
        data = read(self._out)
        if data == b"":
            return None
        self._reply += data or b""
        if data is None or b"\n" not in data:
            return ()
        *lines, self._reply = self._reply.split(b"\n")
        return lines

    # What was printed

    def printed(self, number: int) -> Printed:
        """Return what belongs to that reply, which has come."""
        self._hear(number)
        return self._heard.cut(number)

    def rest(self) -> bytes:
        """Return what no reply has claimed."""
        self._hear()
        return self._heard.rest

    def wait_printed(self, seconds: float) -> bytes:
        """Wait until something is printed, and return it; no reply will claim it."""
        poll({self._print: select.POLLIN}, seconds)
        return read(self._print) or b""

    def _hear(self, number: int | None = None) -> None:
        """Take in what was printed, or only what belongs to a reply and came before it.

        More than a pipe holds was printed meanwhile, and it may never end.
        """
        for _ in range(PIPE):
            done = number is not None and self._heard.has(number)
            if done or not (data := read(self._print)):
                return
            self._heard.add(data)


class _Heard:
    """What came through the pipe of printed text, cut by the marks of replies."""

    def __init__(self, token: str) -> None:
        self._token = f"\0{token} ".encode()
        self._text = bytearray()
        self._lost = 0

    def add(self, data: bytes) -> None:
        """Take in some bytes, and let go of the middle of too many."""
        self._text += data
        if len(self._text) > 4 * KEPT and self._token not in self._text:
            self._lost += len(self._text) - 2 * KEPT
            del self._text[KEPT:-KEPT]

    def cut(self, number: int) -> Printed:
        """Return what belongs to that reply: all that came before its mark."""
        text, mark, rest = self._text.partition(self._token + b"%d\n" % number)
        if not mark:
            return Printed()
        lines = text.decode(errors="replace").splitlines()[:LINES]
        printed = Printed(len(text) + self._lost, tuple(line[:200] for line in lines))
        self._text, self._lost = rest, 0
        return printed

    @property
    def rest(self) -> bytes:
        """What no reply has claimed."""
        return bytes(self._text)

    def has(self, number: int) -> bool:
        """Tell whether all has come that belongs to that reply."""
        return self._token + b"%d\n" % number in self._text


def poll(wanted: Mapping[int, int], seconds: float) -> list[int]:
    """Return at which pipes something happens, within that time."""
    # select() cannot take descriptors from 1024 on, and a selector is one more.
    polled = select.poll()
    for each, events in wanted.items():
        polled.register(each, events)
    return [each for each, _ in polled.poll(max(seconds, 0) * 1000 + 1)]


def read(fd: int) -> bytes | None:
    """Return what is there, b"" at the end, None if there is nothing yet."""
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return None


def descriptor(pipe: IO[bytes] | None) -> int:
    """Return the descriptor of a child's pipe."""
    return cast("IO[bytes]", pipe).fileno()  # all three are pipes
