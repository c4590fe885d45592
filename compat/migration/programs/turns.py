"""How a program is given its turns: lines of text, or JSON objects of many sessions.

lines       a turn is a line of standard input, its answer a line of standard output;
a session is over where the input ends, and the program ends, too
sessions    {"session": 3, "turn": "hi"} is answered {"answer": "…"}, or
{"error": "rate_limited"}; another number begins with nothing said yet;
{"chunk": "…"} before the answer is a piece that a reader sees early
http        the same objects, posted to an address that the program is given, where it
listens; the body of its answer are the lines
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

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
