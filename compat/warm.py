"""Starting children as copies of a process that has imported what they need.

To import what a child of a migration check needs takes longer than to play its worlds,
and a folder of migrations starts hundreds of them. So the second time that a child of
one kind is asked for, or the first time where frameworks are to be imported or a check
expects several (``WarmStarts.expect``), a process is started that imports what such
children import and waits; from then on they are copies of it
(``refengine.testing.warm``). Children whose interpreter would start
otherwise, as with another hash seed, are of another kind: sets and addresses differ
between kinds as they do between processes.

Where there is no ``fork`` that is safe, that is but on Linux, and where anything stands
in the way, a child is started as ever.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Protocol, TypeAlias

from refengine.testing.owned import unmarked
from refengine.testing.warm import REFUSED

Kind: TypeAlias = tuple[object, ...]

CALL: Final = "modules[-1].main()\n"
"""The last line of a child's start, before which it has only imported."""
MOST: Final = 8
"""So many processes wait, at most; what was not needed for longest ends first."""
PATIENCE: Final = 60.0
"""Seconds for all that a copy needs to be imported."""


class Process(Protocol):
    """What is asked of a process that was started, however that was done."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """The parent's end of its input."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """The parent's end of its output."""

    @property
    def stderr(self) -> IO[bytes] | None:
        """The parent's end of its log."""

    @property
    def pid(self) -> int:
        """Its number, and that of its session."""
        ...

    @property
    def returncode(self) -> int | None:
        """How it ended; None before ``wait``."""

    def wait(self) -> int:
        """Wait until it has ended, and return how."""
        ...


THREADS: Final = "it runs more than one thread once it is imported"
GONE: Final = "the process that imported it ended"
PRINTS: Final = "it prints when it is imported"


class RefusedError(Exception):
    """A process makes no copy: it could not import, has threads, or is gone."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class Waiting:
    """A process that has imported what children of one kind need."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], frameworks: Sequence[str]
    ) -> None:
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(PATIENCE)
        self._one_at_a_time = threading.Lock()
        with other, unmarked():  # it outlasts the side that first needs it
            self._process = subprocess.Popen(  # noqa: S603  # our own Python, no shell
                _waiting(command, other.fileno(), frameworks),
                env=env,
                # Pipes, since what Python makes of them at its start copies have, too.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[other.fileno()],
                start_new_session=True,
            )

    def copied(self, cwd: Path | None, env: Mapping[str, str]) -> Copied:
        """Return a copy in that folder; raises RefusedError."""
        request = {"cwd": None if cwd is None else str(cwd), "env": dict(env)}
        pipes = [os.pipe() for _ in range(3)]
        (theirs_in, ours_in), (ours_out, theirs_out), (ours_log, theirs_log) = pipes
        theirs = [theirs_in, theirs_out, theirs_log]
        ends = ((ours_in, "wb"), (ours_out, "rb"), (ours_log, "rb"))
        ours = [os.fdopen(each, mode, buffering=0) for each, mode in ends]
        try:
            text = json.dumps(request).encode()
            pid = self._answer(lambda: socket.send_fds(self._control, [text], theirs))
            self._see_that_nothing_was_printed()
        except RefusedError:
            for pipe in ours:
                pipe.close()
            raise
        finally:
            for each in theirs:
                os.close(each)
        return Copied(self, pid, ours)

    def status(self, pid: int) -> int:
        """Wait for a copy, and return how it ended; killed, if nobody knows it now."""
        request = json.dumps({"ended": pid}).encode()
        try:
            return self._answer(lambda: self._control.send(request))
        except RefusedError:
            return -signal.SIGKILL

    def end(self) -> None:
        """End it; its copies go on."""
        self._control.close()
        self._process.kill()
        self._process.communicate()

    def _see_that_nothing_was_printed(self) -> None:
        """Raise RefusedError if imports printed something, which each child would."""
        pipes = (self._process.stdout, self._process.stderr)
        if select.select([each for each in pipes if each], (), (), 0)[0]:
            raise RefusedError(PRINTS)

    def _answer(self, ask: Callable[[], object]) -> int:
        try:
            with self._one_at_a_time:  # or one thread would get the answer to another
                ask()
                answer = self._control.recv(64).decode()
        except OSError as error:  # too large a request is one, too
            raise RefusedError(GONE) from error
        if answer in {"", REFUSED}:
            raise RefusedError(THREADS if answer else GONE)
        return int(answer)


class Copied:
    """A copy of a waiting process, with the parent's ends of its pipes."""

    def __init__(self, origin: Waiting, pid: int, pipes: Sequence[IO[bytes]]) -> None:
        self._origin = origin
        self.pid = pid
        self.stdin, self.stdout, self.stderr = pipes
        self.returncode: int | None = None

    def wait(self) -> int:
        """Wait until it has ended, and return how."""
        if self.returncode is None:
            self.returncode = self._origin.status(self.pid)
        return self.returncode


class WarmStarts:
    """The processes that wait to be copied, by the kind of children they become."""

    def __init__(self) -> None:
        self._kinds: OrderedDict[Kind, Waiting | None] = OrderedDict()
        self._refused: set[Kind] = set()
        self.reasons: dict[str, None] = {}
        """Why children were started by themselves where others are copied."""
        self._owner = os.getpid()
        self._starts = threading.Lock()

    def start(
        self,
        command: Sequence[str],
        cwd: Path | None,
        env: Mapping[str, str],
        frameworks: Sequence[str] = (),
    ) -> Process | None:
        """Return a copy, None where a child has to be started as ever.

        ``frameworks`` are modules that it will import first of all.
        """
        if not self._can(env):
            return None
        with self._starts:  # pieces of a folder are judged in several threads
            return self._copied(command, cwd, env, frameworks)

    def expect(
        self, command: Sequence[str], env: Mapping[str, str], frameworks: Sequence[str]
    ) -> None:
        """Begin to import what such children need, without waiting for it."""
        kind = (*command, *frameworks, *_start_of(env))
        with self._starts:
            known = kind in self._refused or self._kinds.get(kind) is not None
            if self._can(env) and not known:
                self._new(kind, command, env, frameworks)

    def _can(self, env: Mapping[str, str]) -> bool:
        is_ours = sys.platform == "linux" and os.getpid() == self._owner
        return is_ours and not _is_relative(env)

    def _copied(
        self,
        command: Sequence[str],
        cwd: Path | None,
        env: Mapping[str, str],
        frameworks: Sequence[str],
    ) -> Process | None:
        kind = (*command, *frameworks, *_start_of(env))
        if kind in self._refused:
            return None
        if kind not in self._kinds:
            self._kinds[kind] = None
            if not frameworks:
                return None  # a child that is the only one saves nothing
        self._kinds.move_to_end(kind)
        waiting = self._kinds[kind] or self._new(kind, command, env, frameworks)
        try:
            return waiting.copied(cwd, env)
        except RefusedError as error:
            self.reasons.setdefault(error.why)
            waiting.end()
            del self._kinds[kind]
            self._refused.add(kind)
            return None

    def close(self) -> None:
        """End all that wait."""
        while self._kinds:
            _, waiting = self._kinds.popitem()
            if waiting is not None and os.getpid() == self._owner:
                waiting.end()

    def _new(
        self,
        kind: Kind,
        command: Sequence[str],
        env: Mapping[str, str],
        frameworks: Sequence[str],
    ) -> Waiting:
        there = [(old, each) for old, each in self._kinds.items() if each is not None]
        for old, waiting in there[: max(len(there) - MOST + 1, 0)]:
            waiting.end()
            self._kinds[old] = None
        self._kinds[kind] = made = Waiting(command, env, frameworks)
        return made


def _waiting(
    command: Sequence[str], control: int, frameworks: Sequence[str]
) -> list[str]:
    """Return the command of a process that starts like this child, and waits."""
    lines = [
        "from refengine.testing.warm import serve",
        *(f"import_module({each!r})" for each in frameworks),
        f"serve({control})",
        CALL,
    ]
    return [each.replace(CALL, "\n".join(lines)) for each in command]


def _start_of(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what an interpreter, or a framework, reads when it starts."""
    return sorted(each for each in env.items() if each[0] not in _LATER)


_LATER: Final = frozenset(("PYTEST_CURRENT_TEST", "PWD", "OLDPWD", "COLUMNS", "LINES"))
"""Variables that nothing reads when it is imported."""


def _is_relative(env: Mapping[str, str]) -> bool:
    """Tell whether what is found depends on the folder of the start."""
    paths = env.get("PYTHONPATH", "").split(os.pathsep)
    return any(each and not Path(each).is_absolute() for each in paths)


WARM: Final = WarmStarts()
"""One for the process: what waits outlasts the check that first needed it, and the
threads that judge a folder share it."""
atexit.register(WARM.close)
