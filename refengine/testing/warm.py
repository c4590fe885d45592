"""A process that has imported what a child needs, and is copied for each child.

    refengine.testing.warm.serve(3)    # returns in the copies, and only there

The parent's end is ``compat.warm``. A datagram on that descriptor asks for a copy, with
the pipes that become its input, output and log, or for how a copy ended. A copy is as a
process that was started: in a session of its own, with the folder and the environment
that it was asked for. Where more than one thread runs, no copy is made.
"""

from __future__ import annotations

import gc
import json
import os
import random
import socket
import sys
from pathlib import Path
from typing import Final

LARGEST: Final = 1 << 20
"""Bytes of a request, at most."""
TASKS: Final = Path("/proc/self/task")
"""A folder with an entry for each thread, those that are not Python's, too."""
REFUSED: Final = "refused"
"""The answer where no copy can be made."""


def serve(descriptor: int) -> None:
    """Make copies until the parent is gone; returns in each copy."""
    gc.freeze()  # what is there is never looked through, so its pages stay shared
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    while True:
        data, pipes, _, _ = socket.recv_fds(control, LARGEST, 3)
        if not data:
            os._exit(0)
        request = json.loads(data)
        if "ended" in request:
            _, status = os.waitpid(request["ended"], 0)
            control.send(str(os.waitstatus_to_exitcode(status)).encode())
        elif len(list(TASKS.iterdir())) > 1:
            control.send(REFUSED.encode())
        elif os.fork() == 0:
            _become(control, pipes, request["cwd"], request["env"])
            return
        for pipe in pipes:
            os.close(pipe)


def _become(
    control: socket.socket, pipes: list[int], cwd: str | None, env: dict[str, str]
) -> None:
    """Make this copy a process of its own, and say which one it is."""
    try:
        os.setsid()
        if cwd is not None:
            os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        for descriptor, pipe in enumerate(pipes):
            os.dup2(pipe, descriptor)
            os.close(pipe)
        _draw_anew()
        control.send(str(os.getpid()).encode())
        control.close()
    except OSError:
        control.send(REFUSED.encode())
        os._exit(1)


def _draw_anew() -> None:
    """Have random numbers be others than in the next copy, as between processes."""
    random.seed()
    numbers = getattr(sys.modules.get("numpy"), "random", None)
    if numbers is not None:
        numbers.seed()
