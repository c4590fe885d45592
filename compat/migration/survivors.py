"""Processes that outlive the side that started them, in sessions of their own.

Whoever leaves the child's process group is not ended with it. What nearly all of them
have is the temporary folder: as HOME, unless they were given another environment, or as
the folder they run in. Found so, they are ended before the folder is removed. Who plays
programs in a network of their own knows the others as well, by ``more``.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

ROUNDS: Final = 5
"""So often they are looked for: one that is starting another is found the next time."""
PATIENCE: Final = 5.0
"""Seconds that one may take to end."""
PROCESSES: Final = Path("/proc")


def nobody() -> Iterable[int]:
    """Return no process."""
    return ()


def end_survivors(
    folder: Path, more: Callable[[], Iterable[int]] = nobody
) -> list[int]:
    """End all processes that run in this folder or were given it; return who is left.

    Only Linux says of a process where it runs.
    """
    for _ in range(ROUNDS):
        left = alive_in(folder, more)
        if not left:
            return []
        for pid in left:
            _end(pid)
    return alive_in(folder, more)


def alive_in(folder: Path, more: Callable[[], Iterable[int]] = nobody) -> list[int]:
    """Return the processes that run in this folder or were given it, on Linux."""
    if sys.platform != "linux":
        return []
    found = {*_survivors(f"{folder}/"), *more()}
    return [pid for pid in sorted(found) if not _is_over(pid)]


def _end(pid: int) -> None:
    """End a process, and wait until it has: on a busy machine that takes a moment."""
    with suppress(OSError):  # it ended by itself, or is somebody else's
        process = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(process, signal.SIGKILL)
            select.select([process], (), (), PATIENCE)
        finally:
            os.close(process)


def _survivors(folder: str) -> Iterator[int]:
    mine = os.getpid()
    home = f"={folder}".encode()
    for each in os.scandir(PROCESSES):
        if each.name.isdecimal() and int(each.name) != mine:
            with suppress(OSError):  # it is gone, or another user's
                runs_in = os.readlink(f"{each.path}/cwd")  # noqa: PTH115  # many, as texts
                given = Path(each.path, "environ").read_bytes()
                if f"{runs_in}/".startswith(folder) or home in given:
                    yield int(each.name)


def _is_over(pid: int) -> bool:
    """Tell whether it has ended, and only nobody has asked how."""
    with suppress(OSError):
        stat = Path(PROCESSES, str(pid), "stat").read_text("utf-8", errors="replace")
        return stat.rpartition(")")[2].split()[0] in {"Z", "X"}
    return True
