"""The trace of a program's session: what the server and its pipes saw of it.

Nothing inside a program is seen, so its trace has what leaves it: requests, effects,
answers, and how its turns ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from compat.migration.programs.turns import TurnAnswer
from compat.wire.server.programs import AskedModel, Logged, PostedEffect, StrayRequest
from refengine.testing.trace import Observation, ObservationKind, Trace

STRAY: Final = "request to another address"
EXIT: Final = "exit"


@dataclass(frozen=True, slots=True)
class TurnBegun:
    """A turn was written; the first of a session is not a later one."""

    number: int


@dataclass(frozen=True, slots=True)
class TurnOver:
    """A turn was answered, or the program ended instead, with this exit status.

    ``log`` is what it logged last meanwhile; nobody compares it.
    """

    answer: TurnAnswer
    status: int | None = None
    log: str = ""


@dataclass(frozen=True, slots=True)
class SessionOver:
    """The program ended after its last turn: how, and what it still printed."""

    status: int
    rest: tuple[str, ...] = ()


Entry: TypeAlias = Logged | TurnBegun | TurnOver | SessionOver
Told: TypeAlias = "tuple[ObservationKind, Mapping[str, Any]]"


def trace_of(log: Sequence[Entry]) -> Trace:
    """Return what a session's log says, as observations."""
    run, found = 0, list[Observation]()
    for entry in log:
        if isinstance(entry, TurnBegun):
            run = entry.number
        for kind, data in _told(entry):
            found.append(Observation(kind, run, len(found), data))
    return Trace(found)


def _told(entry: Entry) -> Iterator[Told]:
    match entry:
        case TurnBegun(number):
            yield "run_start", {"continues": number > 1}
        case AskedModel():
            yield from _asked(entry)
        case PostedEffect(name, data):
            yield "effect", {"name": name, "data": data}
        case StrayRequest(method, path):
            yield "effect", {"name": STRAY, "data": f"{method} {path}"}
        case TurnOver():
            yield from _over(entry)
        case SessionOver(status, rest):
            if rest:
                yield "event", _event("printed after the last answer", "\n".join(rest))
            if status:
                yield "event", _error(f"{EXIT} {status}", "end")


def _asked(asked: AskedModel) -> Iterator[Told]:
    request = asked.request
    yield (
        "model_request",
        {
            "messages": request.messages,
            "tools": [each.json for each in request.tools],
            "options": request.options,
            "ctx": {},
        },
    )
    if asked.answer is not None:
        yield "model_response", {"message": asked.answer}
    if asked.failure is not None:
        yield "model_error", {"error": asked.failure}


def _over(entry: TurnOver) -> Iterator[Told]:
    answer = entry.answer
    if answer.chunks:
        yield "event", _event("chunks", "".join(answer.chunks), answer.chunks)
    if answer.text is not None:
        yield "run_end", _end("completed", answer.text)
        return
    word = answer.error
    if word is None:
        word = "exit" if entry.status is None else f"{EXIT} {entry.status}"
    yield "event", _error(word, "turn", entry.log)
    yield "run_end", _end("failed", None)


def _end(status: str, answer: str | None) -> dict[str, Any]:
    return {"status": status, "answer": answer, "messages": []}


def _event(kind: str, text: str, stream: Sequence[str] = ()) -> dict[str, Any]:
    said: dict[str, Any] = {"kind": kind, "whole": {"text": text, "tool_calls": []}}
    return said | ({"stream": list(stream)} if stream else {})


def _error(word: str, point: str, log: str = "") -> dict[str, Any]:
    text = log or word
    return {"kind": "error", "class": word, "error": {"point": point, "text": text}}
