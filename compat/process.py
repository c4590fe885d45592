"""The parent's end of the one protocol by which programs are called, and call back.

    child = ChildProcess(python("property_tests.judging.worker"))
    child.initialize(limit=30.0, engine="reference")
    reply = child.call("load", {}, limit=60.0)

JSON-RPC 2.0, one object a line, UTF-8, over the program's standard input and output;
its standard error is its log. ``refengine.testing.child`` is the other end for programs
in Python. A child has a session and a mark of its own (``refengine.testing.owned``), so
that ending it ends all that it started.

Calls are answered in order, and many may be sent ahead. One loop moves the pipes of all
children that are waited for, so that nobody waits for a pipe that nobody reads. A call
uses up its time only while it is the first that is open and the parent looks.

    ChildError
    ├── ChildDiedError      it ended: by itself, or by a signal
    ├── ChildHungError      a call was not answered in time
    ├── ChildMuteError      it runs, and its replies have ended
    ├── BadFrameError       it wrote a line that is not a message
    ├── LongFrameError      it wrote a line that is too long
    └── ChildClosedError    it was ended from here
    CallError               what it was called for failed, and it says how
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, TypeAlias, cast

import refengine
from compat.pipes import KEPT, Event, FileLog, PipeLog, Printed, descriptor, poll, read
from compat.warm import CALL, WARM, Process
from compat.watcher import WATCHER
from refengine.errors import RefengineError
from refengine.testing.child import NO_METHOD, PROTOCOL, CallError, Function, Params
from refengine.testing.owned import Mark

Locate: TypeAlias = Callable[[bytes], str]
"""Finds in a traceback of faulthandler's where a child was; "" if it does not say."""

GRACE: Final = 1.0
"""Seconds in which a child may end by itself, so that its own clean-up runs."""
DUMP: Final = 2.0
"""Seconds in which a hanging child may print where it is."""
IDLE: Final = 10.0
"""Seconds for which a child without a call lets the others be waited for."""
LONGEST: Final = 1 << 28
"""Bytes of a line, at most: more would be not a trace but a loop."""

SILENT: Final = MappingProxyType(
    {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}
)
"""What keeps frameworks from sending anything anywhere, whatever a shell has set."""

_START: Final = """\
import sys
from importlib import import_module
from importlib.machinery import PathFinder
root, *names = sys.argv[1:]
sys.argv = [""]
class Ours:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, path or [root]) if name in names else None
sys.meta_path.insert(0, Ours)
modules = [import_module(name) for name in names]
sys.meta_path.remove(Ours)
"""
"""Finds our packages where the parent found them, whatever stands in the user's path,
which stays as it is."""


def python(
    main: str, *packages: str, executable: str | Path = sys.executable
) -> Sequence[str]:
    """Return the command of a child in Python: the ``main`` of a module of ours.

    Its package and these are imported first, so that no package of the user's, whose
    name one of them may have, too, stands in its place. The rest is what the
    ``executable`` has.
    """
    root = str(Path(refengine.__file__).parent.parent)
    names = dict.fromkeys(("refengine", *packages, main.partition(".")[0], main))
    return [str(executable), "-P", "-c", f"{_START}{CALL}", root, *names]


@dataclass(slots=True)
class ChildCall:
    """A call that was sent, or will be: how long it may take, and what came of it.

    ``label`` is its number for whoever calls, such as that of a world.
    """

    id: int
    method: str
    limit: float
    """Seconds, without those in which it waits for a processor."""
    label: int | None = None
    reply: Mapping[str, Any] | None = None
    printed: Printed = field(default_factory=Printed)

    @property
    def result(self) -> Any:  # noqa: ANN401  # any JSON
        """What the function returned; raises CallError. There has to be a reply."""
        reply = cast("Mapping[str, Any]", self.reply)
        if "error" in reply:
            raise CallError.read(reply["error"])
        return reply["result"]


class ChildError(RefengineError):
    """A child is of no more use: what it was doing, and the last line it printed."""

    def __init__(self, why: str, call: ChildCall | None, last_line: str = "") -> None:
        self.why = why
        self.call = call
        self.last_line = last_line
        doing = "" if call is None else f" in its call of {call.method!r}"
        last = f"; it printed last: {last_line}" if last_line else ""
        super().__init__(f"the process {why}{doing}{last}")


class ChildDiedError(ChildError):
    """A child ended; a status below 0 is that of a signal."""

    def __init__(
        self, status: int, where: str, call: ChildCall | None, last_line: str
    ) -> None:
        self.status = status
        self.where = where
        name = signal_name(-status) if status < 0 else ""
        by_itself = f"ended with exit status {status}"
        why = f"was killed by {name}{where}" if name else by_itself
        super().__init__(why, call, last_line)


class ChildHungError(ChildError):
    """A child did not answer in time."""

    def __init__(self, where: str, call: ChildCall, last_line: str) -> None:
        self.where = where
        why = f"gave no answer within {call.limit:g} s{where}"
        super().__init__(why, call, last_line)


class ChildMuteError(ChildError):
    """A child closed the pipe of its replies, and went on."""

    def __init__(self, call: ChildCall | None, last_line: str) -> None:
        super().__init__("closed the pipe of its replies", call, last_line)


class BadFrameError(ChildError):
    """A child wrote a line that is not a message, or no reply to a call."""

    def __init__(self, frame: bytes, call: ChildCall | None, last_line: str) -> None:
        self.frame = frame
        shown = frame[:80].decode(errors="replace")
        more = "…" if len(frame) > 80 else ""
        why = f"wrote a line that is not a message: {shown!r}{more}"
        super().__init__(why, call, last_line)


class LongFrameError(ChildError):
    """A child wrote a line that is too long."""

    def __init__(self, call: ChildCall | None, last_line: str, longest: int) -> None:
        self.longest = longest
        super().__init__(f"wrote a line of more than {longest} bytes", call, last_line)


class ChildClosedError(ChildError):
    """A child was ended from here, so it can be called no more."""

    def __init__(self) -> None:
        super().__init__("was ended", None)


class ChildProcess:
    """A program that is called over pipes; what it is doing is its first open call.

    ``log`` is a file for what it prints, in place of a pipe that is read while the
    child is waited for; unless ``marked``, it is not said for which call it was.
    ``functions`` are what it may call. Only ``call``, ``wait`` and ``end`` wait, and a
    hang does where ``locate`` asks the child for a traceback of itself. With
    ``frameworks``, which it will import first, if any, and no ``log``, it may be made
    by copying another one (``compat.warm``).
    """

    def __init__(  # noqa: PLR0913  # what a process is made of, and who may call whom
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        log: IO[bytes] | None = None,
        marked: bool = True,
        functions: Mapping[str, Function] = MappingProxyType({}),
        locate: Locate | None = None,
        frameworks: Sequence[str] | None = None,
    ) -> None:
        self.over: ChildError | None = None
        self.left: Sequence[int] = ()
        """What it started and nobody here can end, once it was ended."""
        self._mark = Mark.new()
        self._functions = functions
        self._locate = locate
        self._calls: dict[int, ChildCall] = {}
        self._last = 0
        self._depth = 0
        self._since = self._looked = time.monotonic()
        self._queued = 0.0
        self._unsent: deque[bytes] = deque()
        self._half_sent = False
        self._line = bytearray()
        self._lines: deque[bytearray] = deque()
        WATCHER.start()
        started = None
        if frameworks is not None:
            started = WARM.start(command, cwd, env or os.environ, frameworks)
        with self._mark.borne():
            self.process: Process = started or subprocess.Popen(  # noqa: S603  # no shell
                command,
                cwd=cwd,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if log is None else log,
                bufsize=0,
                start_new_session=True,
            )
        self._mark.fix(self.process.pid)  # a copy is told to do something only later
        self._in = descriptor(self.process.stdin)
        self._out = descriptor(self.process.stdout)
        self._log: PipeLog | FileLog
        self._log = FileLog(log) if log else PipeLog(self.process.stderr, marked=marked)
        fds = (self._out, *self._log.descriptors)
        self._readable: Sequence[Event] = [(fd, select.POLLIN) for fd in fds]
        self._both = [*self._readable, (self._in, select.POLLOUT)]
        for fd in (self._in, *fds):
            os.set_blocking(fd, False)

    # Calls

    @property
    def busy(self) -> bool:
        """Whether there is a reply to come."""
        return bool(self._calls)

    @property
    def last_line(self) -> str:
        """The last line that it printed, as far as the pipes have been read."""
        return self._log.last_line()

    def initialize(self, limit: float, **about: object) -> ChildCall:
        """Start the first call, which needs not be waited for."""
        params = {"protocol": PROTOCOL, "token": self._log.token, **about}
        return self.start("initialize", params, limit)

    def start(
        self, method: str, params: Params, limit: float, label: int | None = None
    ) -> ChildCall:
        """Put a call behind the others; raises ChildError if the child is over."""
        if self.over is not None:
            raise self.over
        self._last += 1
        call = ChildCall(self._last, method, limit, label)
        if not self._calls:
            self._since = self._looked = time.monotonic()
        elif self._depth:
            self._since = time.monotonic()
        self._calls[call.id] = call
        self._send({"id": call.id, "method": method, "params": params})
        return call

    def call(self, method: str, params: Params, limit: float) -> Any:  # noqa: ANN401  # any JSON
        """Return what a function of the child returns; raises ChildError, CallError."""
        call = self.start(method, params, limit)
        self.wait(call)
        return call.result

    def wait(self, call: ChildCall) -> None:
        """Wait for a reply; raises ChildError."""
        self.take()
        while call.reply is None:
            if self.over is not None:
                raise self.over
            move([self])

    def forget_unsent(self) -> None:
        """Take back what has not been sent; replies to what has been reach nobody."""
        for _ in range(max(len(self._unsent) - self._half_sent, 0)):
            self._unsent.pop()
            self._calls.popitem()

    def _send(self, message: Mapping[str, object]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        self._unsent.append(line)
        if len(self._unsent) == 1:
            self._write()

    # Pipes

    def waits_for(self) -> Sequence[Event]:
        """Return the pipes at which something may happen, and what."""
        return self._both if self._unsent else self._readable

    def move(self, fd: int) -> None:
        """Write or read one pipe as far as it goes now."""
        if self.over is not None:
            return  # ended by what came through another pipe
        if fd == self._in:
            self._write()
        elif fd == self._out:
            self._read()
        else:
            self._log.hear()

    def _write(self) -> None:
        line = self._unsent[0]
        try:
            done = os.write(self._in, line)
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent.clear()  # why, is known when the replies end
            return
        self._half_sent = done < len(line)
        if self._half_sent:
            self._unsent[0] = line[done:]
        else:
            self._unsent.popleft()

    def _read(self) -> None:
        data = read(self._out)
        if data == b"":
            self._ended()
            return
        self._line += data or b""
        if data is not None and b"\n" in data:
            *lines, self._line = self._line.split(b"\n")
            self._lines.extend(lines)
        if len(self._line) > LONGEST:
            self.give_up(LongFrameError(self._current, self._log.last_line(), LONGEST))
        self.take()

    # Messages

    def take(self) -> None:
        """Take the messages that have come; a function of ours may call and do so."""
        while self._lines and self.over is None:
            line = self._lines.popleft()
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            match message:
                case {"id": int(number), "result": _} if number in self._calls:
                    self._replied(self._calls.pop(number), message)
                case {"id": int(number), "error": {"code": _, "message": _}} if (
                    number in self._calls
                ):
                    self._replied(self._calls.pop(number), message)
                case {"method": str(method)}:
                    self._serve(message.get("id"), method, message.get("params", {}))
                case _:
                    last_line = self._log.last_line()
                    self.give_up(BadFrameError(bytes(line), self._current, last_line))

    def _replied(self, call: ChildCall, message: Mapping[str, Any]) -> None:
        call.printed = self._log.printed(call.id)
        call.reply = message
        self._since = time.monotonic()

    def _serve(self, number: object, method: str, params: Params) -> None:
        """Call a function of ours for the child; that takes nothing of its time."""
        began, since = time.monotonic(), self._since
        self._depth += 1
        reply: Mapping[str, object]
        try:
            if method not in self._functions:
                raise CallError(f"there is no method {method!r}", code=NO_METHOD)
            reply = {"result": self._functions[method](params)}
        except CallError as error:
            reply = {"error": error.json}
        finally:
            self._depth -= 1
            self._since = since + time.monotonic() - began
        if number is not None:
            self._send({"id": number, **reply})

    # Time

    @property
    def _current(self) -> ChildCall | None:
        """The call whose time runs: the last one while a function of ours runs."""
        calls = self._calls.values()
        return next(reversed(calls) if self._depth else iter(calls), None)

    def look(self) -> float:
        """Return how many seconds it has left; the time nobody looked is given back."""
        now = time.monotonic()
        self._since += now - self._looked
        self._looked = now
        current = self._current
        return IDLE if current is None else self._since + current.limit - now

    def looked(self) -> None:
        """End it if its time is up."""
        current = self._current
        if self.over is None and current and self._is_late(current):
            where = self._hanging()
            self.give_up(ChildHungError(where, current, self._log.last_line()))
        self._looked = time.monotonic()

    def _is_late(self, call: ChildCall) -> bool:
        """Tell whether a call's time is up; what it stood in a queue is given back.

        On a busy machine a call would hang that does not on an idle one. The first time
        that of the calls before is given back, too: it is read only where it matters.
        """
        now = time.monotonic()
        if now - self._since > call.limit:
            before, self._queued = self._queued, queued(self.process.pid)
            self._since += max(0.0, self._queued - before)
        return now - self._since > call.limit

    def _hanging(self) -> str:
        """Have it print where it is, by a handler that needs no Python to run."""
        if self._locate is None or not isinstance(self._log, PipeLog):
            return ""
        os.kill(self.process.pid, signal.SIGUSR2)
        end, text = time.monotonic() + DUMP, b""
        while (left := end - time.monotonic()) > 0:
            text = text[-KEPT:] + self._log.wait(left)
            if found := self._locate(text):
                return found
        return ""

    # Ends

    def give_up(self, error: ChildError) -> None:
        """End it at once with all that it started, for this reason."""
        self.over = self.over or error
        self._calls.clear()
        self._unsent.clear()
        self._kill()
        self._close()

    def kill(self) -> None:
        """End it at once."""
        self.give_up(ChildClosedError())

    def end(self, grace: float = GRACE) -> int:
        """Let it end by itself for a moment, then end it; return how it ended."""
        if self.over is None:
            if not self._calls:
                self.start("shutdown", {}, grace)
            cast("IO[bytes]", self.process.stdin).close()
            self._drain(grace)
        self.kill()
        return self.process.wait()

    def _drain(self, grace: float) -> None:
        """Read what nobody needs any more until the child has ended, or time is up."""
        until = time.monotonic() + grace
        while (left := until - time.monotonic()) > 0:
            for fd in poll(self._readable, left):
                if fd != self._out:
                    self._log.hear()
                elif read(fd) == b"":
                    return

    def _ended(self) -> None:
        call, has_ended = self._current, _ends(self.process.pid)
        status = self._kill()
        if not has_ended:
            self.give_up(ChildMuteError(call, self._log.last_line()))
            return
        where = self._locate(self._log.rest()) if self._locate and status < 0 else ""
        self.give_up(ChildDiedError(status, where, call, self._log.last_line()))

    def _kill(self) -> int:
        """End all that the child started; return how the child itself ended.

        The group is ended before the child is waited for: until then nobody else can
        have its number. A child that is gone already keeps its own exit status.
        """
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.left = self._mark.end_bearers()
        return self.process.wait()

    def _close(self) -> None:
        self._log.close()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def move(children: Collection[ChildProcess], patience: float = IDLE) -> None:
    """Move what can be moved; wait for it no longer than one of them has time.

    Nor longer than ``patience``, in seconds.
    """
    left = min(patience, *(child.look() for child in children))
    whose = {fd: child for child in children for fd, _ in child.waits_for()}
    events = [event for child in children for event in child.waits_for()]
    for fd in poll(events, left):
        whose[fd].move(fd)
    for child in children:
        child.looked()


def queued(pid: int) -> float:
    """Return for how many seconds a process has waited for a processor until now.

    Of several threads it is what one of them waited longest; where nobody counts it, 0.
    """
    found = [0]
    for each in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, IndexError):
            found.append(int(each.read_text("ascii").split()[1]))
    return max(found) / 1e9


def _ends(pid: int) -> bool:
    """Tell whether a process ends that has closed its pipes, as it does at its end."""
    if sys.platform != "linux":
        return True  # nobody can ask for that, so it is believed
    with suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            return bool(poll([(process, select.POLLIN)], GRACE))
        finally:
            os.close(process)
    return True


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
