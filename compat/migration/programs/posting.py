"""Turns that are posted to a program, at an address that it is given and listens at.

    POST http://127.0.0.1:PORT/    {"session": 3, "turn": "hi"}

What it prints is its log, on either output.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import Final, TypeAlias, cast

from compat.migration.programs.process import ProgramProcess
from compat.migration.programs.turns import AskedTurn, TurnAnswer, answer_of

HOST: Final = "127.0.0.1"
PORT: Final = "{port}"
"""What stands for the number of the port in a command."""
FAILED: Final = 400
NO_ANSWER: Final = "connection closed"
"""The word of an error where a program that goes on gave no answer."""
Opener: TypeAlias = Callable[[], socket.socket]
"""Makes a socket with which the program is reached."""


def stream_socket() -> socket.socket:
    """Return a socket that is connected to nothing yet."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def free_port(opened: Opener) -> int:
    """Return the number of a port that nobody listens at."""
    with closing(opened()) as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


@dataclass(frozen=True, slots=True)
class PostedTurns:
    """A request each turn; ``opened`` makes what it is sent by."""

    port: int
    opened: Opener = stream_socket

    def take(self, program: ProgramProcess, turn: AskedTurn) -> TurnAnswer:
        """Have a turn taken; raises ProgramFault."""
        with program.waiting(str(turn), turn.limit) as wait:
            reached = self._reached(program, wait)
            if reached is None:
                return TurnAnswer()
            with closing(reached):
                found = _exchanged(reached, self._request(turn), wait)
        return _answer(found, ended=program.over)

    def _reached(
        self, program: ProgramProcess, wait: Callable[..., None]
    ) -> socket.socket | None:
        """Return a connection, as soon as it listens; None if it ended before."""
        while not program.over:
            found = self.opened()
            if found.connect_ex((HOST, self.port)) == 0:
                found.settimeout(0)
                return found
            found.close()
            wait()
        return None

    def _request(self, turn: AskedTurn) -> bytes:
        body = turn.json.encode("utf-8", "surrogatepass")
        lines = (
            "POST / HTTP/1.1",
            f"host: {HOST}:{self.port}",
            "content-type: application/json",
            f"content-length: {len(body)}",
            "connection: close",
        )
        return "\r\n".join((*lines, "", "")).encode() + body


def _exchanged(
    reached: socket.socket, request: bytes, wait: Callable[..., None]
) -> bytes:
    """Return all that comes for a request, as far as it came."""
    found = bytearray()
    unsent = memoryview(request)
    with suppress(OSError):  # it closed the connection: what came is what there is
        while True:
            wait(reached, writes=bool(unsent), read=len(found))
            try:
                if unsent:
                    unsent = unsent[reached.send(unsent) :]
                data = reached.recv(1 << 16)
            except BlockingIOError:
                continue
            if not data:
                break
            found += data
    return bytes(found)


class _Bytes:
    """What is read of a connection, as far as the standard library asks for it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _: str) -> BytesIO:
        return BytesIO(self._data)


def _answer(found: bytes, *, ended: bool) -> TurnAnswer:
    """Read the answer to a request; raises WrongLineError."""
    try:
        response = HTTPResponse(cast("socket.socket", _Bytes(found)))
        response.begin()
        text = response.read().decode(errors="replace")
    except (HTTPException, OSError, ValueError):
        return TurnAnswer() if ended else TurnAnswer(error=NO_ANSWER)
    lines = [each for each in text.splitlines() if each.strip()]
    if response.status >= FAILED and not text.lstrip().startswith("{"):
        return TurnAnswer(error=f"status {response.status}")
    said = answer_of(lines)
    if said.text is None and said.error is None:
        return TurnAnswer() if ended else TurnAnswer(error=NO_ANSWER)
    return said
