"""How a program is given its turns: lines of text, or JSON objects of many sessions.

lines       a turn is a line of standard input, its answer a line of standard output;
a session is over where the input ends, and the program ends, too
sessions    {"session": 3, "turn": "hi"} is answered {"answer": "…"}, or
{"error": "rate_limited"}; another number begins with nothing said yet;
{"chunk": "…"} before the answer is a piece that a reader sees early
http        the same objects, posted to an address that the program is given, where it
listens; the body of its answer are the lines

    POST http://127.0.0.1:PORT/    {"session": 3, "turn": "hi"}

What a program prints that is posted its turns is its log, on either output.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import Any, Final, Protocol, TypeAlias, cast

from compat.migration.programs.process import ProgramFault, ProgramProcess
from refengine.testing.json_values import is_mapping

SHOWN = 200


class WrongLineError(ProgramFault):
    """A line that is not an answer of the protocol."""

    kind = "protocol"

    def __init__(self, line: str) -> None:
        self.line = line
        super().__init__(
            f"wrote a line that is not an answer: {line[:SHOWN]!r};"
            ' with --turns sessions or http it is {"answer": "…"} or {"error": "…"},'
            " and the log goes to standard error"
        )


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """What came of a turn: an answer, or a word for what went wrong.

    With neither, the program ended. ``chunks`` are pieces that it showed before.
    """

    text: str | None = None
    error: str | None = None
    chunks: tuple[str, ...] = ()


class TurnProtocol(Protocol):
    """How turns are written and answers read."""

    def take(self, program: ProgramProcess, turn: AskedTurn) -> TurnAnswer:
        """Have a turn taken; raises ProgramFault."""
        ...


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """A turn of a session: what is said, and for how many seconds it is waited for."""

    session: int
    number: int
    text: str
    limit: float

    @property
    def json(self) -> str:
        """The turn as the object that programs of many sessions read."""
        return json.dumps({"session": self.session, "turn": self.text})

    def __str__(self) -> str:
        return f"turn {self.number}"


@dataclass(frozen=True, slots=True)
class PlainLines:
    """A line of text each way."""

    def take(self, program: ProgramProcess, turn: AskedTurn) -> TurnAnswer:
        """Have a turn taken; raises ProgramFault."""
        program.send(" ".join(turn.text.splitlines()))
        return TurnAnswer(program.line(str(turn), turn.limit))


@dataclass(frozen=True, slots=True)
class SessionLines:
    """A JSON object each way, with pieces before the last one."""

    def take(self, program: ProgramProcess, turn: AskedTurn) -> TurnAnswer:
        """Have a turn taken; raises ProgramFault."""
        program.send(turn.json)
        return answer_of(iter(lambda: program.line(str(turn), turn.limit), None))


def answer_of(lines: Iterable[str]) -> TurnAnswer:
    """Return what objects say, a line each; without the last, the program ended.

    Raises WrongLineError.
    """
    chunks: list[str] = []
    for line in lines:
        said = _read(line)
        if isinstance(said.get("chunk"), str):
            chunks.append(said["chunk"])
        elif isinstance(said.get("answer"), str):
            return TurnAnswer(said["answer"], chunks=tuple(chunks))
        elif isinstance(said.get("error"), str):
            return TurnAnswer(error=said["error"], chunks=tuple(chunks))
        else:
            raise WrongLineError(line)
    return TurnAnswer(chunks=tuple(chunks))


def _read(line: str) -> Mapping[str, Any]:
    try:
        tree = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WrongLineError(line) from error
    if not is_mapping(tree):
        raise WrongLineError(line)
    return tree


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
