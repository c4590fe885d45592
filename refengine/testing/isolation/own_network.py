"""A network of one's own, with nothing but loopback in it: a namespace of Linux.

    way = leave_network()  # of this thread, and of all that it starts

Started by its path, this is a process that hands out sockets of such a network: it is
asked over the socket whose number it is given, says first how it came by its network,
and answers each byte with a socket. Its network lasts as long as it does, or what runs
in there. So nothing of ours is imported here.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

NEW_USER = 0x10000000
NEW_NET = 0x40000000
SET_FLAGS = 0x8914
"""SIOCSIFFLAGS"""
IS_UP = 1
"""IFF_UP"""


@cache
def can_leave_network() -> bool:
    """Tell whether a process of ours can leave the machine's network, by trying it.

    In another process: one that was refused halfway would be nobody, without a network.
    """
    if sys.platform != "linux":
        return False
    command = [sys.executable, "-I", "-S", __file__]
    null = subprocess.DEVNULL
    tried = subprocess.run(command, check=False, stdin=null, stdout=null, stderr=null)  # noqa: S603  # this file
    return tried.returncode == 0


def leave_network() -> str:
    """Leave the machine's network; return by which way, nothing if there is none."""
    try:
        way = _unshared(ctypes.CDLL(None, use_errno=True))
        if way:
            _up()
    except (OSError, AttributeError, TypeError, ImportError):  # not on every system
        return ""
    return way


def _unshared(libc: ctypes.CDLL) -> str:
    if libc.unshare(NEW_NET) == 0:
        return "net"
    user, group = os.getuid(), os.getgid()
    if libc.unshare(NEW_USER | NEW_NET) != 0:
        return ""
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny", "ascii")
    (own / "uid_map").write_text(f"{user} {user} 1", "ascii")
    (own / "gid_map").write_text(f"{group} {group} 1", "ascii")
    return "user"


def _up() -> None:
    """Bring loopback up, which a new network has down."""
    import fcntl  # noqa: PLC0415  # not on every system

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_one:
        fcntl.ioctl(any_one, SET_FLAGS, struct.pack("16sh14x", b"lo", IS_UP))


def main() -> None:
    """Serve sockets until nobody is there to ask; without an argument, only try."""
    if not sys.argv[1:]:
        sys.exit(0 if leave_network() else 1)
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        way = leave_network()
        asked.send(way.encode() or b"none")
        while way and asked.recv(1):
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
                socket.send_fds(asked, [b"s"], [made.fileno()])


if __name__ == "__main__":
    main()
