"""Refusing sockets: no session's code reaches anything but what it was allowed.

A name is refused where it is looked up, as a connection is where it is made. What is
raised is what a machine without a network raises, so that a subject meets nothing that
it does not meet elsewhere, with a text that says what to do.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias, cast

from refengine.messages import Json
from refengine.testing.isolation.side_doors import Hear, SideDoors, caller

Address: TypeAlias = tuple[str, int]

ADVICE: Final = (
    "a check keeps the code of a session off the network; allow it with --net"
)


class SocketGate:
    """Lets through what is allowed, and refuses all else.

    ``allowed`` are hosts with ports, by name or number. ``used`` are those of them that
    were, and ``harness`` is the harness' own server, which is not a door.
    """

    def __init__(
        self,
        doors: SideDoors,
        allowed: Collection[Address],
        inside: Callable[[str], bool],
    ) -> None:
        self.harness: Address | None = None
        self.used: dict[str, None] = {}
        self._doors = doors
        self._allowed = {(host.lower(), port) for host, port in allowed}
        self._found: dict[Address, Address] = {}
        self._inside = inside
        self._looking_up = False

    @property
    def table(self) -> Mapping[str, Hear]:
        """Who hears of which event."""
        return {
            "socket.connect": self._connect,
            "socket.sendto": self._connect,
            "socket.sendmsg": self._connect,
            "socket.bind": self._connect,
            "socket.getaddrinfo": self._look_up,
            "socket.gethostbyname": self._look_up,
            "socket.gethostbyaddr": self._look_up,
        }

    def _connect(self, arguments: tuple[Any, ...]) -> None:
        address = arguments[1]
        if address is None:
            return  # a message on a socket that is connected
        if isinstance(address, tuple):
            named = cast("tuple[object, ...]", address)
            host, port = str(named[0]), int(str(named[1]))
            if not self._may(host, port):
                self._refuse(host, port)
                why = f"{host}:{port} is refused: {ADVICE} {host}:{port}"
                raise ConnectionRefusedError(errno.ECONNREFUSED, why)
        elif not self._inside(path := os.fsdecode(address)):
            self._refuse(path, None)
            why = f"the socket {path!r} is refused: {ADVICE} HOST:PORT for others"
            raise ConnectionRefusedError(errno.ECONNREFUSED, why)

    def _look_up(self, arguments: tuple[Any, ...]) -> None:
        host = arguments[0]
        host = host.decode() if isinstance(host, bytes) else host
        if not host or self._looking_up or _is_number(host):
            return
        port = _port(arguments[1]) if len(arguments) > 1 else None
        if self._resolved(host, port):
            return
        self._refuse(host, port)
        shown = f"{host}:{port}" if port else f"{host}:PORT"
        why = f"the name {host!r} is not looked up: {ADVICE} {shown}"
        raise socket.gaierror(socket.EAI_NONAME, why)

    def _resolved(self, host: str, port: int | None) -> bool:
        """Look up an allowed host, to know its addresses when they are connected to."""
        known = [each for each in self._allowed if each[0] == host.lower()]
        known = [each for each in known if port in {None, 0, each[1]}]
        for name, allowed in known:
            self._looking_up = True
            try:
                found = socket.getaddrinfo(name, allowed, type=socket.SOCK_STREAM)
            except OSError:
                continue  # who asked will get the same answer
            finally:
                self._looking_up = False
            for *_, address in found:
                self._found[str(address[0]), allowed] = name, allowed
        return bool(known)

    def _may(self, host: str, port: int) -> bool:
        if (host, port) == self.harness:
            return True
        address = (host.lower(), port)
        allowed = address if address in self._allowed else self._found.get(address)
        if allowed is not None:
            self.used.setdefault(f"{allowed[0]}:{allowed[1]}")
        return allowed is not None

    def _refuse(self, host: str, port: int | None) -> None:
        if self._doors.among(caller(2)):
            data: dict[str, Json] = {"host": host, "port": port}
            self._doors.put_down("socket", data)


def _port(given: object) -> int | None:
    """Return a port that is given by its number; services have names, too."""
    return int(str(given)) if str(given).isdecimal() else None


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
