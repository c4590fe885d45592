"""A process that has a network of its own, with nothing but loopback in it.

It is started by its path, and is asked over the socket whose number it is given: it
says first how it came by its network, and then hands out a socket for each byte that
it is sent. Its network lasts as long as it does, or what runs in there.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

NEW_USER = 0x10000000
NEW_NET = 0x40000000
SET_FLAGS = 0x8914
"""SIOCSIFFLAGS"""
IS_UP = 1
"""IFF_UP"""


def apart() -> bytes:
    """Leave the machine's network; return by which way, nothing if there is none."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NET) == 0:
        return b"net"
    user, group = os.getuid(), os.getgid()
    if libc.unshare(NEW_USER | NEW_NET) != 0:
        return b""
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny", "ascii")
    (own / "uid_map").write_text(f"{user} {user} 1", "ascii")
    (own / "gid_map").write_text(f"{group} {group} 1", "ascii")
    return b"user"


def up() -> None:
    """Bring loopback up, which a new network has down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_one:
        fcntl.ioctl(any_one, SET_FLAGS, struct.pack("16sh14x", b"lo", IS_UP))


def main() -> None:
    """Serve sockets until nobody is there to ask."""
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        try:
            way = apart()
            up()
        except (OSError, AttributeError):
            way = b""
        asked.send(way or b"none")
        while way and asked.recv(1):
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
                socket.send_fds(asked, [b"s"], [made.fileno()])


if __name__ == "__main__":
    main()
