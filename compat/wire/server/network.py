"""A network of programs' own, from which nothing leads out of it: Linux namespaces.

    with own_network() as network: ...    # None where the system gives none

The server of a check listens in there, so programs reach it and each other, and nothing
else, whatever language they are written in. Neither root nor a setting is needed where
users may make namespaces.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from refengine.testing.isolation import own_network as holder
from refengine.testing.owned import run, unmarked

CHILD: Final = str(holder.__file__)
PATIENCE: Final = 10.0
"""Seconds in which a network has to be there."""
WAYS: Final = {"net": (), "user": ("--user", "--preserve-credentials")}
"""What else is entered with the network, by the way in which it was made."""


@dataclass(frozen=True, slots=True)
class OwnNetwork:
    """A network that lasts while its process does; sockets of it, and a way in."""

    asked: socket.socket
    entering: tuple[str, ...]
    in_turn: Lock = field(default_factory=Lock)

    def socket(self) -> socket.socket:
        """Return a socket of this network, bound to nothing yet."""
        with self.in_turn:
            self.asked.send(b"s")
            _, (number, *_), _, _ = socket.recv_fds(self.asked, 1, 1)
        return socket.socket(fileno=number)

    def inside(self, words: Sequence[str]) -> list[str]:
        """Return the command that runs another one in this network."""
        return [*self.entering, "--", *words]


@contextmanager
def own_network() -> Generator[OwnNetwork | None]:
    """Yield a new network, None where the system gives none."""
    enter = shutil.which("nsenter")
    if sys.platform != "linux" or enter is None:
        yield None
        return
    ours, theirs = socket.socketpair()
    with ours:
        ours.settimeout(PATIENCE)
        with theirs:
            number = theirs.fileno()
            with unmarked():
                child = subprocess.Popen(  # noqa: S603  # our own file
                    [sys.executable, "-I", "-S", CHILD, str(number)],
                    pass_fds=[number],
                    stdin=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
        try:
            yield _entered(ours, child.pid, enter)
        finally:
            child.kill()
            child.wait()


def _entered(ours: socket.socket, process: int, enter: str) -> OwnNetwork | None:
    """Return the network of a process, if one can be entered."""
    try:
        more = WAYS.get(ours.recv(16).decode())
    except OSError:
        return None
    if more is None:
        return None
    network = OwnNetwork(ours, (enter, "--target", str(process), *more, "--net"))
    return network if run(network.inside(["true"])).returncode == 0 else None
