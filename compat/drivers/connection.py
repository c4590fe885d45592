"""A driver's process, and the calls between it and what plays on an event loop.

Frames are those of ``compat.process``: JSON-RPC 2.0, one object a line. That module
waits for its children; this one is part of an event loop, since what a driver calls are
the model, the tools and the hooks of a world, which are coroutines there.

While a loop on virtual time runs it, the loop hears a driver only when it has nothing
else to do, and moves its clock only when the driver has settled (``Outside``).

What goes wrong with the process has the errors of ``compat.process``: each fails all
calls that are open, and the process is ended.
"""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, Protocol, TypeAlias, TypeGuard, cast, final

from compat.drivers.values import decoded, encoded
from compat.pipes import FileLog, descriptor, poll, widen
from compat.process import (
    BadFrameError,
    ChildCall,
    ChildClosedError,
    ChildDiedError,
    ChildError,
    ChildHungError,
    LongFrameError,
)
from refengine.errors import RefengineError, error
from refengine.testing.clock import VirtualLoop
from refengine.testing.owned import unmarked

PROTOCOL: Final = 2
"""The version that drivers are asked for."""
PATIENCE: Final = 30.0
"""Seconds in which a driver that is waited for has to say something."""
ROOM: Final = 1 << 20
"""Bytes that are read at once, and that pipes hold if the system allows it.

What a driver says in one turn is then heard at once, however much it is.
"""
LONGEST: Final = 1 << 26
"""Bytes of a line of a driver, at most."""
ENDING: Final = 2.0
"""Seconds in which a driver ends once its input has ended."""

CANCELLED: Final = "cancelled"
"""The kind of the error that stands for a cancellation."""
CANCELLED_INSIDE: Final[Mapping[str, object]] = MappingProxyType(
    {"error": {"code": -32000, "message": "cancelled", "data": {"kind": CANCELLED}}}
)

Params: TypeAlias = "Mapping[str, Any]"


class ErrorReader(Protocol):
    """Whoever calls a driver, and is told by number which exception came back."""

    def error_of(self, message: str, data: Params) -> BaseException:
        """Return the exception that an error of the driver stands for."""
        ...


class Callee(Protocol):
    """What a driver may call: one agent, and what plays with it."""

    def served(self, method: str, params: Params) -> Coroutine[Any, Any, object]:
        """Return what answers a call."""
        ...

    def notified(self, method: str, params: Params) -> None:
        """Take a notification."""
        ...

    def error_data(self, error: BaseException) -> Mapping[str, object]:
        """Return what travels of an exception, so that it can come back."""
        ...


Waiter: TypeAlias = "tuple[asyncio.Future[Any] | None, str, ErrorReader | None]"
"""Who waits for a reply, to which method, and who reads its errors."""


@error
class DriverProtocolError(RefengineError):
    """A driver speaks another version of the protocol, or says nothing of itself."""

    said: object
    says = (
        "the driver answers 'initialize' with protocol {said!r}, but"
        f" {PROTOCOL} is spoken here: use a driver that speaks it"
    )


class UnknownMethodError(LookupError):
    """A driver called a method that does not exist."""

    def __init__(self, method: str) -> None:
        super().__init__(f"there is no method {method!r}")


class DriverProcess:
    """One driver that runs, from its start to its end.

    A call that is about an agent names it; agents are added by ``add`` and their
    numbers are this side's.
    """

    def __init__(
        self,
        command: Sequence[str],
        patience: float = PATIENCE,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start it, in another folder and environment where those are given.

        It may take ``PATIENCE`` to come up, if all else has to be faster.
        """
        self.patience = max(patience, PATIENCE)  # a busy machine starts no process soon
        self.over: ChildError | None = None
        log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        self._log = FileLog(log)
        with unmarked():  # it may be kept for other sides
            self._process = subprocess.Popen(  # noqa: S603  # no shell
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                cwd=cwd,
                env=env,
            )
        weakref.finalize(self, _end, self._process, log)
        self._pid = os.getpid()
        self._in = descriptor(self._process.stdin)
        self._out = self.file = descriptor(self._process.stdout)
        widen(self._in, ROOM)
        widen(self._out, ROOM)
        self._line = bytearray()
        self._unsent = bytearray()
        self._agents: dict[int, Callee] = {}
        self._waiting: dict[int, Waiter] = {}
        self._last = self._last_agent = 0
        self._answering: dict[int, asyncio.Task[None]] = {}
        self._room = memoryview(bytearray(ROOM))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._users = 0
        self._freed: list[int] = []
        self._frames = self._settled_at = self._seen = 0
        self._since = 0.0
        self._watching: asyncio.TimerHandle | None = None
        self._is_asked = False
        self.about: Mapping[str, Any] = MappingProxyType(self._introduced())
        """What the driver says of itself: engine, version, profile, capabilities."""
        self.patience = patience

    @property
    def is_ours(self) -> bool:
        """Whether this process started it, and can use it."""
        return self._pid == os.getpid() and self.over is None

    def processor_seconds(self) -> float:
        """Return the processor time that it has used; raises OSError off Linux."""
        of_process = ~self._process.pid << 3 | 2  # its clock, as the kernel numbers it
        return time.clock_gettime(of_process)

    # Agents

    def add(self, callee: Callee) -> int:
        """Return the number of a new agent, under which the driver will name it."""
        self._last_agent += 1
        self._agents[self._last_agent] = callee
        return self._last_agent

    def remove(self, agent: int) -> None:
        """Forget an agent, here and, before its next call, in the driver."""
        self._agents.pop(agent, None)
        self._freed.append(agent)

    # The loop that it is used in

    def attach(self) -> None:
        """Hear the driver in the loop that runs; once more for each ``detach``."""
        self._users += 1
        if self._users > 1 or self.over is not None:
            return
        self._loop = loop = asyncio.get_running_loop()
        loop.add_reader(self._out, self.hear)
        if isinstance(loop, VirtualLoop):
            loop.outside = self
        else:
            self._watch(loop)

    def detach(self) -> None:
        """Hear it no longer."""
        self._users -= 1
        if self._users == 0 and self._loop is not None:
            self._leave()

    def _leave(self) -> None:
        self.speak()
        self._is_asked = False  # the next loop asks for itself
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        loop, self._loop = self._loop, None
        if loop is not None and not loop.is_closed():
            loop.remove_reader(self._out)
        if isinstance(loop, VirtualLoop):
            loop.outside = None

    # Time

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """End it if it says nothing for too long while only it could: in real time.

        A loop on virtual time sees that by itself.
        """
        if self._frames != self._seen or not self._is_awaited:
            self._seen, self._since = self._frames, loop.time()
        elif loop.time() - self._since >= self.patience:
            self.give_up()
            return
        again = min(1.0, self.patience / 4)
        self._watching = loop.call_later(again, self._watch, loop)

    @property
    def _is_awaited(self) -> bool:
        """Whether it is waited for, and waits for nobody itself."""
        return bool(self._waiting) and not self._answering

    def has_settled(self) -> bool:
        """Tell whether nothing will come; asks the driver to say so, if it has not."""
        if self.over is not None or self._settled_at == self._frames:
            return True
        if not self._is_asked:
            self._is_asked = True
            at = self._frames + 1
            reply = self._start("settle", {}, None)
            reply.add_done_callback(lambda _: self._settled(at))
        return False

    def _settled(self, at: int) -> None:
        self._is_asked = False
        if self._frames == at + 1:  # that of the question and of its answer
            self._settled_at = self._frames

    def give_up(self) -> None:
        """End it, since nothing came in time."""
        if self.over is None:
            call = self._open_call()
            self._end_with(ChildHungError("", call, self._log.last_line()))

    def _open_call(self) -> ChildCall:
        methods = [method for _, method, _ in self._waiting.values()]
        asked = [each for each in methods if each != "settle"]
        return ChildCall(0, (asked or methods or ["run"])[-1], self.patience)

    # Calls

    def _introduced(self) -> dict[str, Any]:
        """Make the first call, outside of any loop: a driver calls nobody before."""
        self._waiting[0] = (None, "initialize", None)
        params = {"protocol": PROTOCOL}
        self._send({"id": 0, "method": "initialize", "params": params})
        while b"\n" not in self._line and self.over is None:
            if poll([(self._out, select.POLLIN)], self.patience):
                self._read()
            else:
                self.give_up()
        line, _, self._line = self._line.partition(b"\n")
        match self.over or _frame_of(bytes(line)):
            case ChildError() as over:
                raise over
            case {"id": 0, "result": {"protocol": version} as said}:
                del self._waiting[0]
                if version != PROTOCOL:
                    self.close()
                    raise DriverProtocolError(version)
                return cast("dict[str, Any]", said)
            case _:
                bad = self._bad(bytes(line))
                self._end_with(bad)
                raise bad

    async def call(
        self,
        method: str,
        params: Mapping[str, object],
        reader: ErrorReader | None = None,
    ) -> Any:  # noqa: ANN401  # any JSON
        """Return what a function of the driver returns; raises what that fails with."""
        return await self.start(method, params, reader)

    def ask(
        self,
        method: str,
        params: Mapping[str, object],
        reader: ErrorReader | None = None,
    ) -> Any:  # noqa: ANN401  # any JSON
        """Return what a function of the driver returns, while the loop stands still.

        It is for functions that call nobody: what comes meanwhile is answered when the
        loop goes on. Raises what the function fails with.
        """
        reply = self.start(method, params, reader)
        self.speak()
        while not reply.done():
            if poll([(self._out, select.POLLIN)], self.patience):
                self.hear()
            else:
                self.give_up()
        return reply.result()

    def start(
        self,
        method: str,
        params: Mapping[str, object],
        reader: ErrorReader | None = None,
    ) -> asyncio.Future[Any]:
        """Call a function of the driver; raises ChildError if that is over."""
        if self.over is not None:
            raise self.over
        while self._freed:
            self._send({"method": "reset", "params": {"agent": self._freed.pop()}})
        return self._start(method, params, reader)

    def _start(
        self, method: str, params: Mapping[str, object], reader: ErrorReader | None
    ) -> asyncio.Future[Any]:
        self._last += 1
        loop = self._loop or asyncio.get_running_loop()
        reply: asyncio.Future[Any] = loop.create_future()
        self._waiting[self._last] = (reply, method, reader)
        self._send({"id": self._last, "method": method, "params": params})
        return reply

    def _send(self, frame: Mapping[str, object]) -> None:
        self._unsent += encoded({"jsonrpc": "2.0", **frame})
        self._frames += 1
        if not isinstance(self._loop, VirtualLoop):
            self.speak()

    def speak(self) -> None:
        """Send what there is to say: at once, so that it has one order for both."""
        data, self._unsent = memoryview(bytes(self._unsent)), bytearray()
        try:
            while data:
                data = data[os.write(self._in, data) :]
        except BrokenPipeError:
            return  # why, is known when what it wrote has ended

    # Frames

    def hear(self) -> None:
        """Take what it has said."""
        if b"\n" in self._read():
            *lines, self._line = self._line.split(b"\n")
            for line in lines:
                self._take(bytes(line))

    def _read(self) -> bytes:
        data = bytes(self._room[: os.readv(self._out, [self._room])])
        self._line += data
        if not data:
            self._died()
        elif len(self._line) > LONGEST and b"\n" not in data:
            last_line = self._log.last_line()
            self._end_with(LongFrameError(self._open_call(), last_line, LONGEST))
        return data

    def _take(self, line: bytes) -> None:
        if self.over is not None:
            return
        self._frames += 1
        frame = _frame_of(line)
        match frame:
            case {"method": str(method), "params": {"agent": int(agent)}} if (
                agent in self._agents
            ):
                self._called(frame, method, self._agents[agent])
            case {
                "method": "close",
                "id": int(number),
                "params": {"agent": int(agent)},
            } if (
                0 < agent <= self._last_agent
            ):  # gone here: a collector may close what its engine has left open
                self._send({"id": number, "result": {}})
            case {"id": int(number), "result": result} if number in self._waiting:
                self._replied(number, result)
            case {"id": int(number), "error": {"message": str(message)} as error} if (
                number in self._waiting
            ):
                data: Params = error.get("data") or {}
                self._failed(number, message, data)
            case _:
                self._end_with(self._bad(line))

    def _bad(self, line: bytes) -> BadFrameError:
        return BadFrameError(line, self._open_call(), self._log.last_line())

    def _replied(self, number: int, result: object) -> None:
        reply, _, _ = self._waiting.pop(number)
        if _is_open(reply):
            reply.set_result(result)

    def _failed(self, number: int, message: str, data: Params) -> None:
        reply, method, reader = self._waiting.pop(number)
        if not _is_open(reply):
            return
        if reader is None:
            reply.set_exception(DriverCallError(method, message))
        else:
            reply.set_exception(reader.error_of(message, data))

    def _called(self, frame: Mapping[str, Any], method: str, callee: Callee) -> None:
        number, params = frame.get("id"), frame["params"]
        if number is None and method == "abandon":
            self._abandon(params["call"])
        elif number is None:
            callee.notified(method, params)
        else:
            answering = self._answer(number, callee, method, params)
            loop = self._loop or asyncio.get_running_loop()
            self._answering[number] = loop.create_task(answering)

    def _abandon(self, number: int) -> None:
        """Cancel what answers a call that the driver waits for no more."""
        task = self._answering.get(number)
        if task is not None:
            task.add_done_callback(lambda done: self._given_up(number, done))
            task.cancel()

    def _given_up(self, number: int, task: asyncio.Task[None]) -> None:
        """Reply to a call that was given up; it may never have begun."""
        self._answering.pop(number, None)
        if task.cancelled() and self.over is None:
            self._send({"id": number, **CANCELLED_INSIDE})

    async def _answer(
        self, number: int, callee: Callee, method: str, params: Params
    ) -> None:
        reply: Mapping[str, object]
        try:
            reply = {"result": await callee.served(method, params)}
        except (KeyboardInterrupt, SystemExit):
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # by us, or with all else
                raise
            reply = CANCELLED_INSIDE
        except BaseException as error:  # noqa: BLE001  # interrupts are none of Exception
            data = callee.error_data(error)
            reply = {"error": {"code": -32000, "message": str(error), "data": data}}
        finally:
            self._answering.pop(number, None)
        if self.over is None:
            self._send({"id": number, **reply})

    # Ends

    def _died(self) -> None:
        status = self._ended()
        where = f" ({self._log.last_line()})" if status < 0 else ""
        call = self._open_call()
        self._end_with(ChildDiedError(status, where, call, self._log.last_line()))

    def _ended(self) -> int:
        try:
            return self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _end_with(self, why: ChildError) -> None:
        """End the process, and let all that waits for it fail with that."""
        self.over = why
        self._leave()
        self._process.kill()
        self._process.wait()
        waiting, self._waiting = self._waiting, {}
        for reply, _, _ in waiting.values():
            if _is_open(reply):
                reply.set_exception(why)
                reply.exception()  # it may be that nobody waits for it any more

    def wait(self) -> int:
        """Wait until it has ended by itself, or end it; return its exit status."""
        return self._ended()

    def close(self) -> None:
        """End the process."""
        if self.over is None and self._pid == os.getpid():
            self._end_with(ChildClosedError())


class DriverCallError(RuntimeError):
    """A driver could not do what it was asked for, whatever was played."""

    def __init__(self, method: str, message: str) -> None:
        self.method = method
        super().__init__(f"the driver's {method!r} failed: {message}")


def _is_open(reply: asyncio.Future[Any] | None) -> TypeGuard[asyncio.Future[Any]]:
    """Tell whether somebody may wait for a reply: it may be that of a loop before."""
    return reply is not None and not reply.done() and not reply.get_loop().is_closed()


def _frame_of(line: bytes) -> Any:  # noqa: ANN401  # any JSON
    """Return what a line says; None if that is not JSON."""
    try:
        return decoded(line)
    except (ValueError, RecursionError):
        return None


def _end(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, log):
        if pipe is not None:
            pipe.close()
    process.kill()
    process.wait()


Command: TypeAlias = Callable[[], Sequence[str]]
"""Returns the command of a driver, perhaps after it was built."""


@final
class KeptDriver:
    """The driver of one engine, one in each process that plays it.

    It is started for ``about``, what it says of itself. Raises ChildError or
    DriverProtocolError if it does not come up.
    """

    def __init__(
        self,
        command: Command,
        patience: float = PATIENCE,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start it, in another folder and environment where those are given."""
        self._start = partial(DriverProcess, cwd=cwd, env=env)
        self._command = command
        self._patience = patience
        self._connection: DriverProcess | None = None
        self.about: Mapping[str, Any] = self.connected().about

    def connected(self) -> DriverProcess:
        """Return the driver of this process, started if there is none any more."""
        if self._connection is None or not self._connection.is_ours:
            self._connection = self._start(self._command(), self._patience)
        return self._connection

    @property
    def over(self) -> ChildError | None:
        """Why the driver that was started last is over; None while it runs."""
        return None if self._connection is None else self._connection.over

    def close(self) -> None:
        """End the driver; who asks for it afterwards has it started anew."""
        if self._connection is not None:
            self._connection.close()
