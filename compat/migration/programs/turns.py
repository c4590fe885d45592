"""How a program is given its turns: lines of text, or JSON objects of many sessions.

lines       a turn is a line of standard input, its answer a line of standard output;
a session is over where the input ends, and the program ends, too
sessions    {"session": 3, "turn": "hi"} is answered {"answer": "…"}, or
{"error": "rate_limited"}; another number begins with nothing said yet;
{"chunk": "…"} before the answer is a piece that a reader sees early
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from compat.migration.programs.process import ProgramFault, ProgramProcess
from refengine.testing.json_values import is_mapping

SHOWN = 200


class WrongLineError(ProgramFault):
    """A line that is no answer of the protocol."""

    kind = "protocol"

    def __init__(self, line: str) -> None:
        self.line = line
        super().__init__(
            f"wrote a line that is no answer: {line[:SHOWN]!r};"
            ' with --turns sessions write {"answer": "…"} or {"error": "…"},'
            " and the log to standard error"
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

    def asked(self, session: int, turn: str) -> str:
        """Return the line of a turn."""
        ...

    def answer(self, program: ProgramProcess, doing: str, limit: float) -> TurnAnswer:
        """Read an answer; raises ProgramFault."""
        ...


@dataclass(frozen=True, slots=True)
class PlainLines:
    """A line of text each way."""

    def asked(self, session: int, turn: str) -> str:  # noqa: ARG002  # as below
        """Return the line of a turn."""
        return " ".join(turn.splitlines())

    def answer(self, program: ProgramProcess, doing: str, limit: float) -> TurnAnswer:
        """Read an answer; raises ProgramFault."""
        return TurnAnswer(program.line(doing, limit))


@dataclass(frozen=True, slots=True)
class SessionLines:
    """A JSON object each way, with pieces before the last one."""

    def asked(self, session: int, turn: str) -> str:
        """Return the line of a turn."""
        return json.dumps({"session": session, "turn": turn})

    def answer(self, program: ProgramProcess, doing: str, limit: float) -> TurnAnswer:
        """Read an answer; raises ProgramFault."""
        chunks: list[str] = []
        while True:
            line = program.line(doing, limit)
            if line is None:
                return TurnAnswer(chunks=tuple(chunks))
            said = _read(line)
            if isinstance(said.get("chunk"), str):
                chunks.append(said["chunk"])
            elif isinstance(said.get("answer"), str):
                return TurnAnswer(said["answer"], chunks=tuple(chunks))
            elif isinstance(said.get("error"), str):
                return TurnAnswer(error=said["error"], chunks=tuple(chunks))
            else:
                raise WrongLineError(line)


def _read(line: str) -> Mapping[str, Any]:
    try:
        tree = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WrongLineError(line) from error
    if not is_mapping(tree):
        raise WrongLineError(line)
    return tree
