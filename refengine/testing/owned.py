"""Whose a process or a temporary folder is, and ending what is left of them.

    mark = Mark.new()
    with mark.borne():  # what is started here bears it
        process = subprocess.Popen(command)
    mark.fix(process.pid)  # and cannot raise it
    left = mark.end_bearers()

A mark is a value of a limit that Linux has not heeded since 2.4, that of file locks.
Whatever a process starts inherits it, and neither a session of its own nor another
folder, environment or parent takes it away; only who sets that limit does. So all that
is started for no side waits for its turn (``unmarked``, ``run``): beside a side that
another thread starts it would bear that side's mark, and be ended with it. The value
says which process made it, and so does the name of a temporary folder: what a check
that was killed left behind is found by the next one (``sweep``). Elsewhere than on
Linux nothing bears a mark.

As a program, ``owned.py PID BEGIN`` waits until that process is gone, and then ends all
that bears a mark of it: no code of a side can keep it from that. It is started without
this package, so it is there at once.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

MAGIC: Final = 0xA7
"""The first of the 62 bits of a value: 8, and then 22 for the process that made it, 18
for when that began, and 14 for the number of the mark."""
BEGINS: Final = 0x3FFFF
NUMBERS: Final = 0x3FFF
PROCESSES: Final = Path("/proc")
LIMIT: Final = re.compile(rb"^Max file locks +(\d+)", re.MULTILINE)
ROUNDS: Final = 5
"""So often bearers are looked for: one that is starting another is found next time."""
PATIENCE: Final = 5.0
"""Seconds that one may take to end."""
FOLDER_NAME: Final = re.compile(r"refengine-(\d+)\.(\d+)\.(\d+)-")
"""Names of temporary folders: where process numbers count, whose it is, its begin."""

_NUMBERS: Final = itertools.count()
_IN_TURN: Final = threading.Lock()
"""The limit is that of the whole process while something is started."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What processes bear that were started for one purpose."""

    value: int

    @classmethod
    def new(cls) -> Self:
        """Return a mark of this process that nothing bears yet."""
        pid = os.getpid()
        number = next(_NUMBERS) & NUMBERS
        return cls(MAGIC << 54 | pid << 32 | _begin(pid) << 14 | number)

    @contextlib.contextmanager
    def borne(self) -> Generator[None]:
        """Have all that is started in the block bear this mark.

        Inside of something that cannot raise its own, that one is kept.
        """
        if sys.platform != "linux":
            yield
            return
        import resource  # noqa: PLC0415  # not on every system

        with _IN_TURN:
            before = resource.getrlimit(_LOCKS)
            with contextlib.suppress(ValueError):
                resource.setrlimit(_LOCKS, (self.value, before[1]))
            try:
                yield
            finally:
                resource.setrlimit(_LOCKS, before)

    def fix(self, pid: int) -> None:
        """Keep a process that was just started from raising its mark; root may."""
        if sys.platform == "linux":
            import resource  # noqa: PLC0415  # not on every system

            with contextlib.suppress(OSError, ValueError):  # it is gone, or bears one
                resource.prlimit(pid, _LOCKS, (self.value, self.value))

    def bearers(self) -> list[int]:
        """Return the processes that bear this mark and run, but for this one."""
        return [pid for pid, value in _marked() if value == self.value]

    def end_bearers(self) -> list[int]:
        """End all that bear this mark; return who cannot be ended."""
        return _end_found(self.bearers)


_LOCKS: Final = 10
"""RLIMIT_LOCKS, which Python has no name for."""


@contextlib.contextmanager
def unmarked() -> Generator[None]:
    """Have what is started in the block bear no mark but that of this process."""
    with _IN_TURN:
        yield


def run(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a tool of ours, which bears no side's mark and gets no input, to its end.

    Bytes that are no text come back as surrogates. Raises OSError if it cannot be
    started, and TimeoutExpired, once it is ended, if it takes longer than ``seconds``.
    """
    with unmarked():
        process = subprocess.Popen(  # noqa: S603  # the caller's words, and no shell
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="surrogateescape",
        )
    with process:
        try:
            out, error = process.communicate(timeout=seconds)
        except BaseException:  # whoever ends the wait has no use for the process
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, error)


def own_mark() -> Mark | None:
    """Return the mark that this process bears."""
    data = _read(os.getpid(), "limits")
    value = _value(data)
    return None if value is None else Mark(value)


def begin_of_this() -> int:
    """Return when this process began, as a program of this module is told it."""
    return _begin(os.getpid())


def folder_prefix() -> str:
    """Return how the names of this process' temporary folders begin."""
    pid = os.getpid()
    return f"refengine-{_numbering(pid)}.{pid}.{_begin(pid)}-"


def sweep() -> int:
    """End what processes that are gone have left; return how many that were.

    Their temporary folders go, too. What another container or user has is left alone.
    """
    if sys.platform != "linux":
        return 0
    mine = _numbering(os.getpid())
    left = [
        pid
        for pid, value in _marked()
        if _is_gone(value >> 32 & 0x3FFFFF, value >> 14 & BEGINS)
        and _numbering(pid) == mine
    ]
    _end_all(left)
    with os.scandir(tempfile.gettempdir()) as entries:
        for each in entries:
            found = FOLDER_NAME.match(each.name)
            if found and found[1] == mine and _is_gone(int(found[2]), int(found[3])):
                shutil.rmtree(each.path, ignore_errors=True)
    return len(left)


def _is_gone(pid: int, began: int) -> bool:
    return _begin(pid) != began


def _begin(pid: int) -> int:
    """Return when a process began, as far as it tells two of one number apart.

    Of one that is gone it is more than any value holds, and elsewhere than on Linux 0.
    """
    if sys.platform != "linux":
        return 0
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[19]) & BEGINS if fields else BEGINS + 1


def _numbering(pid: int) -> str:
    """Return the name of where a process has its number, "0" if that is hidden."""
    try:
        return re.sub(r"\D", "", os.readlink(f"{PROCESSES}/{pid}/ns/pid")) or "0"  # noqa: PTH115  # as a text
    except OSError:
        return "0"


def _marked() -> Iterator[tuple[int, int]]:
    """Yield the processes that run and bear a mark, with its value."""
    if sys.platform != "linux":
        return
    for each in os.listdir(PROCESSES):  # noqa: PTH208  # many, as texts
        if each.isdecimal() and (pid := int(each)) != os.getpid():
            value = _value(_read(pid, "limits"))
            if value is not None and not _is_over(pid):
                yield pid, value


def _value(limits: bytes) -> int | None:
    found = LIMIT.search(limits)
    value = int(found[1]) if found else 0
    return value if value >> 54 == MAGIC else None


def _is_over(pid: int) -> bool:
    """Tell whether it has ended, and only nobody has asked how."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return not fields or fields[0] in {b"Z", b"X"}


def _read(pid: int, name: str) -> bytes:
    """Return what the system says of a process, nothing of one that is gone."""
    try:
        return Path(f"{PROCESSES}/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _end_found(find: Callable[[], Sequence[int]]) -> list[int]:
    """End what is found until there is nothing; return who cannot be ended."""
    for _ in range(ROUNDS):
        left = find()
        if not left:
            return []
        _end_all(left)
    return [*find()]


def _end_all(pids: Collection[int]) -> None:
    """End all of them before any is waited for: on a busy machine that takes long."""
    ending = [each for each in map(_killed, pids) if each is not None]
    for process in ending:
        waiting = select.poll()  # select() cannot take descriptors from 1024 on
        waiting.register(process, select.POLLIN)
        waiting.poll(PATIENCE * 1000)
        os.close(process)


def _killed(pid: int) -> int | None:
    """Kill a process; return what tells that it has ended, None if it was gone."""
    try:
        process = os.pidfd_open(pid)
    except OSError:  # it ended by itself, or there are too many: then the next time
        return None
    with contextlib.suppress(OSError):  # it is somebody else's
        signal.pidfd_send_signal(process, signal.SIGKILL)
        return process
    os.close(process)
    return None


def _outlive(pid: int, began: int) -> None:
    """Wait until a process has ended, and end all that bears a mark of it."""
    with contextlib.suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        if _begin(pid) == began:
            select.select([process], (), ())
    _end_found(lambda: [each for each, value in _marked() if _made(value, pid, began)])


def _made(value: int, pid: int, began: int) -> bool:
    return (value >> 32 & 0x3FFFFF, value >> 14 & BEGINS) == (pid, began)


if __name__ == "__main__":
    _outlive(*map(int, sys.argv[1:3]))
