"""The child's end of the protocol: a table of functions, served over pipes.

    connection = Connection({"play": play})
    connection.serve()

JSON-RPC 2.0, one object a line, UTF-8: calls come on the standard input, replies go to
the standard output, and the standard error is the child's log. Both sides may call, and
a side is called while it waits for its own call, so calls nest. The parent's end is
``compat.process``.

    → {"jsonrpc": "2.0", "id": 1, "method": "play", "params": {"world": "…"}}
    ← {"jsonrpc": "2.0", "id": 1, "result": {"trace": "…"}}
    ← {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "…", "data": {}}}

``initialize`` comes first and is answered with the version of the protocol; after
``shutdown``, or when the parent closes its end, there are no more calls. A function
that raises anything but ``CallError`` ends the child, with a traceback in its log.

User code never sees those pipes: both are moved to private duplicates. Its own input is
empty, and whatever it prints, by whichever way, goes to the log. If the parent gave a
token, a line with the token and the call's number ends what was printed for a call.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import faulthandler
import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, TypeAlias, cast

Params: TypeAlias = "Mapping[str, Any]"
Message: TypeAlias = "Mapping[str, Any]"
Function: TypeAlias = Callable[[Params], object]
"""Takes the parameters of a call by name, and returns what JSON can hold."""

PROTOCOL: Final = 1

FAILED: Final = -32000
"""JSON-RPC's code for an error of whoever implements the function."""
NO_METHOD: Final = -32601
"""JSON-RPC's code for a method that is not there."""

ORPHANED: Final = 1.0
"""Seconds after which a child that hangs has seen that its parent is gone."""
LOST: Final = 115
"""How a child ends that has lost the pipes of its calls. Whether the parent closed
them, it knows itself."""
ENDING: Final = 2.0
"""Seconds in which it ends when there are no more calls."""

_encode: Final = json.JSONEncoder().encode
_decode: Final = json.JSONDecoder().decode
"""Kept apart: user code may put something else in the place of ``json``'s functions."""


class CallError(Exception):
    """A call that failed: JSON-RPC's code and message, and data with its kind."""

    def __init__(
        self, message: str, data: Mapping[str, Any] | None = None, code: int = FAILED
    ) -> None:
        self.code = code
        self.message = message
        self.data: Mapping[str, Any] = data or {}
        super().__init__(message)

    @property
    def json(self) -> Mapping[str, Any]:
        """The error as it stands in a reply."""
        return {"code": self.code, "message": self.message, "data": self.data}

    @classmethod
    def read(cls, error: Mapping[str, Any]) -> CallError:
        """Return the error of a reply."""
        return cls(error["message"], error.get("data"), error["code"])


CUT: Final = CallError(
    "it reads from the harness's own pipe", {"kind": "frame", "by": "reading"}
)
"""What is said where a part of a message is missing."""


class Connection:
    """The private ends of the pipes; making them redirects what user code has."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._requests = os.fdopen(os.dup(0), "rb")
        # Never closed: when this pipe ends, the process has ended, and how is known.
        self._replies = os.dup(1)
        self.log: int = os.dup(2)
        self._token = ""
        self._last = 0
        self.current: object = None
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)

    def serve(self) -> bool:
        """Answer calls until there are no more; tell whether that was said."""
        try:
            while (message := self._read()) is not None:
                if message["method"] == "shutdown":
                    self.reply(message["id"], {"result": None})
                    return True
                self._answer(message)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
        return False

    def call(self, method: str, params: Params) -> Any:  # noqa: ANN401  # any JSON
        """Call a function of the parent, and answer its calls meanwhile.

        Raises CallError, and EOFError when the parent has closed its end.
        """
        self._last = number = self._last + 1
        self._send({"id": number, "method": method, "params": params})
        while (message := self._read()) is not None:
            if "method" in message:
                self._answer(message)
            elif "error" in message:
                raise CallError.read(message["error"])
            else:
                return message["result"]
        raise EOFError(method)

    def notify(self, method: str, params: Params) -> None:
        """Call a function of the parent, and wait for no reply."""
        _write(self._replies, _line({"method": method, "params": params}))

    def reply(self, number: object, reply: Mapping[str, object]) -> None:
        """End what was printed for a call, then answer it."""
        line = _line({"id": number, **reply})
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # user code may have closed them
                stream.flush()
        if self._token:
            os.set_blocking(self.log, True)  # user code shares it, and may have set it
            _write(self.log, f"\0{self._token} {number}\n".encode())
        _write(self._replies, line)

    def _read(self) -> Message | None:
        # User code may have told all descriptors not to wait: then nothing looks ended.
        os.set_blocking(self._requests.fileno(), True)
        line = self._requests.readline()
        if not line:
            return None
        try:
            return cast("Message", _decode(line.decode()))
        except ValueError:  # somebody else has read a part of it
            _write(self._replies, _line({"id": self.current, "error": CUT.json}))
            return None

    def _answer(self, message: Message) -> None:
        outer, self.current = self.current, message.get("id")
        reply = self._reply_to(message["method"], message.get("params", {}))
        if self.current is not None:
            self.reply(self.current, reply)
        self.current = outer

    def _reply_to(self, method: str, params: Params) -> Mapping[str, object]:
        try:
            if method == "initialize":
                return {"result": self._initialize(params)}
            if method not in self._functions:
                raise CallError(f"there is no method {method!r}", code=NO_METHOD)
            return {"result": self._functions[method](params)}
        except CallError as error:
            return {"error": error.json}

    def _initialize(self, params: Params) -> object:
        self._token = params.get("token", "")
        if "initialize" in self._functions:
            self._functions["initialize"](params)
        return {"protocol": PROTOCOL}

    def _send(self, message: Message) -> None:
        _write(self._replies, _line(message))


def _line(message: Message) -> bytes:
    return _encode({"jsonrpc": "2.0", **message}).encode() + b"\n"


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


class Forks:
    """Ends forked children, and the session that forked.

    A forked copy of the child would answer the parent's calls a second time, and
    the session would wait for something that the copy was to send: it ends at once.
    What ``subprocess`` starts is another program and no copy.
    """

    def __init__(self, forked: Callable[[], object]) -> None:
        self._forked = forked
        self._is_copy = True

    def install(self) -> None:
        """See every fork of this process."""
        os.register_at_fork(
            before=self._before,
            after_in_child=self._in_child,
            after_in_parent=self._in_parent,
        )

    def _before(self) -> None:
        # subprocess forks like this only for a preexec_fn.
        forking = sys._getframe(1)  # noqa: SLF001  # only the stack knows who it is
        self._is_copy = forking.f_globals.get("__name__") != "subprocess"

    def _in_child(self) -> None:
        if self._is_copy:
            os._exit(0)

    def _in_parent(self) -> None:
        if self._is_copy:
            self._forked()
            os._exit(0)


def show_where(log: int) -> None:
    """Print the line of a crash, and that of a hang when the parent asks for it."""
    faulthandler.enable(log)
    faulthandler.register(signal.SIGUSR2, log)


class Ending:
    """The last that a child does: it ends all of its session.

    One that has ``lost`` its pipes says so; its parent, if it lives, ends the others.
    """

    def __init__(self) -> None:
        self.lost = False
        self._parent = os.getppid()

    def __call__(self) -> None:
        """End the session, or say that the pipes were lost."""
        if self.lost and os.getppid() == self._parent:
            os._exit(LOST)
        os.killpg(0, signal.SIGKILL)


@contextlib.contextmanager
def ended_with_parent() -> Generator[Ending, None, None]:
    """End with all of this session; elsewhere than on Linux also with the parent.

    After the block, threads that do not end by themselves are ended.
    """
    ending = Ending()
    if os.getsid(0) != os.getpid():
        yield ending  # started by hand, in the session of a shell
        return
    atexit.register(ending)
    if sys.platform != "linux":
        _look_for_parent()
    yield ending
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, ENDING)


def _look_for_parent() -> None:
    """End with the parent, where nobody outlives it who would end this process.

    Where ``compat.watcher`` does, a subject has its signals for itself.
    """
    parent = os.getppid()

    def look(_signal: int, _frame: object) -> None:
        if os.getppid() != parent:
            os.killpg(0, signal.SIGKILL)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, ORPHANED, ORPHANED)
