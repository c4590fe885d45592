"""A program as it is run: lines in, lines out, within a time, and nothing left of it.

ProgramFault
├── ProgramHungError     a line did not come in time, or it did not end
├── ProgramFloodError    it writes without an end
└── NoStartError         the system does not start it
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from compat.pipes import descriptor, last_line, poll, read
from compat.watcher import WATCHER
from refengine.testing.owned import Mark

FLOOD: Final = 4 * 2**20
"""Bytes that a program may print for one turn."""
MOMENT: Final = 0.02
"""Seconds after which it is looked again whether a program listens."""
KEPT: Final = 4096
"""Bytes that are kept of what it prints as its log."""


class ProgramFault(Exception):
    """A program that cannot be played; ``kind`` names the cause for machines."""

    kind = "program"


class ProgramHungError(ProgramFault):
    """It does not answer, or does not end."""

    kind = "timeout"

    def __init__(self, doing: str, limit: float, log: str) -> None:
        self.limit = limit
        said = f"; it logged last: {log}" if log else ""
        super().__init__(f"{doing} within {limit:g} s{said}")


class ProgramFloodError(ProgramFault):
    """It prints more than any answer is."""

    kind = "flood"

    def __init__(self, doing: str) -> None:
        super().__init__(
            f"printed more than {FLOOD // 2**20} MB {doing}: print one line a turn,"
            " and the log to standard error"
        )


class NoStartError(ProgramFault):
    """The system refuses to start it."""

    kind = "start"

    def __init__(self, problem: str) -> None:
        super().__init__(f"cannot be started: {problem}")


class ProgramProcess:
    """A program that runs; its standard error is its log, of which the end is kept."""

    def __init__(self, words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        """Start it in a session of its own; raises NoStartError."""
        self._mark = Mark.new()
        WATCHER.start()
        try:
            with self._mark.borne():
                self._process = subprocess.Popen(  # noqa: S603  # the user's own command
                    words,
                    cwd=cwd,
                    env=dict(env),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except OSError as error:
            raise NoStartError(str(error)) from error
        self._mark.fix(self._process.pid)
        self._in = descriptor(self._process.stdin)
        self._out = descriptor(self._process.stdout)
        self._err = descriptor(self._process.stderr)
        for each in (self._in, self._out, self._err):
            os.set_blocking(each, False)
        self._open = {self._out, self._err}
        self._text = bytearray()
        self._log = bytearray()
        self._unsent = bytearray()
        self._logged = False

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    @property
    def log(self) -> str:
        """The line of its log that says what happened last."""
        return last_line(self._log)[:300]

    def begin_turn(self) -> None:
        """Forget that it logged something before."""
        self._logged = False

    @property
    def log_of_turn(self) -> str:
        """The same, if it logged anything in this turn."""
        return self.log if self._logged else ""

    def send(self, line: str) -> None:
        """Have a line written, as soon as the program reads."""
        self._unsent += line.encode("utf-8", "surrogatepass") + b"\n"

    def line(self, doing: str, limit: float) -> str | None:
        """Return the next line that it prints, None if it ended before one.

        Raises ProgramHungError and ProgramFloodError.
        """
        end = time.monotonic() + limit
        while (found := self._next()) is None:
            if self.over:
                self._take()
                rest = self._next()
                return self._last() if rest is None else rest
            if time.monotonic() >= end:
                raise ProgramHungError(f"did not answer {doing}", limit, self.log)
            self._move(end - time.monotonic())
            if len(self._text) > FLOOD:
                raise ProgramFloodError(f"without an answer to {doing}")
        return found

    @contextmanager
    def waiting(self, doing: str, limit: float) -> Generator[Callable[..., None]]:
        """Yield what waits for a moment, or until something happens at a socket.

        What the program prints meanwhile is dropped. It raises ProgramHungError and
        ProgramFloodError.
        """
        end = time.monotonic() + limit
        printed = 0

        def wait(
            reached: socket.socket | None = None, *, writes: bool = False, read: int = 0
        ) -> None:
            nonlocal printed
            if time.monotonic() >= end:
                raise ProgramHungError(f"did not answer {doing}", limit, self.log)
            event = select.POLLIN | (select.POLLOUT if writes else 0)
            more = [] if reached is None else [(reached.fileno(), event)]
            self._move(min(end - time.monotonic(), MOMENT if not more else 1), more)
            printed += len(self._text)
            self._text.clear()
            if max(printed, read) > FLOOD:
                raise ProgramFloodError(f"without an answer to {doing}")

        yield wait

    def finish(self, limit: float) -> tuple[int, list[str]]:
        """Tell it that no turn follows; return its exit status and what it still says.

        Raises ProgramHungError and ProgramFloodError.
        """
        end = time.monotonic() + limit
        while self._unsent and not self.over and time.monotonic() < end:
            self._move(end - time.monotonic())
        self._close_input()
        while not self.over:
            if time.monotonic() >= end:
                raise ProgramHungError(
                    "did not end after its last turn", limit, self.log
                )
            self._move(end - time.monotonic())
            if len(self._text) > FLOOD:
                raise ProgramFloodError("after its last turn")
        self._take()  # a child of it may keep the pipes open, and is not waited for
        rest = self._text.decode(errors="replace").splitlines()
        self._text.clear()
        return self._process.wait(), rest

    def end(self) -> int:
        """End it and all that it started, whatever that does.

        Returns how many it had left running, if it ended by itself.
        """
        left = self._mark.bearers() if self.over else ()
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._mark.end_bearers()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return len(left)

    @property
    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    def _close_input(self) -> None:
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._unsent.clear()

    def _next(self) -> str | None:
        at = self._text.find(b"\n")
        if at < 0:
            return None
        found = self._text[:at].decode(errors="replace")
        del self._text[: at + 1]
        return found.removesuffix("\r")

    def _last(self) -> str | None:
        """Return what it printed last without ending the line."""
        found = self._text.decode(errors="replace")
        self._text.clear()
        return found or None

    def _move(self, seconds: float, more: Sequence[tuple[int, int]] = ()) -> None:
        """Wait until something happens at a pipe, at most a moment, and take it in."""
        # The end of a process shows at its pipes, unless a child of it holds them.
        events = [*((each, select.POLLIN) for each in self._open), *more]
        if self._unsent:
            events.append((self._in, select.POLLOUT))
        poll(events, min(seconds, 0.2))
        self._write()
        self._take()

    def _write(self) -> None:
        while self._unsent:
            try:
                sent = os.write(self._in, self._unsent)
            except BlockingIOError:
                return
            except OSError:  # it reads no more
                self._unsent.clear()
                return
            del self._unsent[:sent]

    def _take(self) -> None:
        for each, kept in ((self._out, self._text), (self._err, self._log)):
            while each in self._open and (data := read(each)) is not None:
                if not data:
                    self._open.discard(each)
                    break
                kept.extend(data)
                self._logged |= each == self._err
                if len(self._text) > FLOOD:
                    return
                del self._log[:-KEPT]
