"""A process that ends what this one has started, once this one is gone.

Whoever is killed ends nobody, and a side may be busy with what no signal interrupts, or
use any signal for itself. So somebody else waits for the end of this process, in a
session of its own, where nothing that ends a group reaches it: it runs
``refengine.testing.owned`` as a program. Only on Linux, where what is started bears a
mark.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from refengine.testing import owned
from refengine.testing.owned import begin_of_this, own_mark, unmarked


class Watcher:
    """Waits for the end of the process that starts it, or of a forked copy of it."""

    def __init__(self) -> None:
        self._of = 0

    def start(self) -> None:
        """Start it, if it does not run; what bears a mark itself is ended with that."""
        if sys.platform != "linux" or self._of == os.getpid():
            return
        with unmarked():
            if self._of == os.getpid():
                return  # another thread has
            self._of = pid = os.getpid()
            if own_mark() is not None:
                return
            process = subprocess.Popen(  # noqa: S603  # our own Python, no shell
                _command(pid),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        atexit.register(_end, process, pid)


WATCHER: Final = Watcher()
"""One for the process: all that it starts is ended together."""


def _command(pid: int) -> Sequence[str]:
    """Return a program that needs nothing but Python's own modules."""
    of = (str(pid), str(begin_of_this()))
    return [sys.executable, "-I", "-S", owned.__file__, *of]


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """End it with its process, which has ended by then what it started."""
    if os.getpid() == owner:
        process.kill()
        process.wait()
