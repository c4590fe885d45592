"""The trace of a program's session: what the server and its pipes saw of it.

Nothing inside a program is seen, so its trace has what leaves it: requests, effects,
answers, files that it has changed where it works, and how its turns ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from compat.migration.programs.turns import TurnAnswer
from compat.migration.session_copy import TEMPORARY
from compat.wire.server.programs import AskedModel, Logged, PostedEffect, StrayRequest
from refengine.testing.isolation.files import BESIDE, NOT_OURS, SHOWN
from refengine.testing.isolation.folder import (
    ABSENT,
    FileState,
    SessionFolder,
    read_held,
)
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


FILE: Final = "file"
GONE: Final = "(removed)"


class ProgramFiles:
    """Tells which files of a session are others than when they were looked at last."""

    def __init__(self, folder: SessionFolder) -> None:
        self._folder = folder
        self._seen: dict[str, FileState | None] | None = None

    def forget(self) -> None:
        """Begin another session, in which the files are as they were at first."""
        self._seen = None

    def changed(self) -> list[PostedEffect]:
        """Return the files that were changed since, each as an effect, by name."""
        now = self._folder.state()
        before = self._folder.first if self._seen is None else self._seen
        self._seen = now
        names = sorted({*now, *before})
        return [
            PostedEffect(FILE, {"name": self._folder.shown(name), "holds": holds})
            for name in names
            if _is_own(name) and now.get(name, ABSENT) != before.get(name, ABSENT)
            for holds in self._holds(name, now)
        ]

    def _holds(self, name: str, now: dict[str, FileState | None]) -> Iterator[str]:
        """Yield what stands in a file now; folders show by the files in them."""
        if name not in now:
            yield GONE
        elif now[name] is not None:
            with suppress(OSError):
                yield _shown(read_held(Path(self._folder.top, name)))


def _shown(data: bytes) -> str:
    if len(data) > SHOWN:
        return f"sha256 {hashlib.sha256(data).hexdigest()}"
    return data.decode("utf-8", "backslashreplace")


def _is_own(name: str) -> bool:
    """Tell whether a file is the program's: no cache of its language, no draft."""
    others = (*NOT_OURS, TEMPORARY, "node_modules")
    return not name.startswith(others) and not name.endswith(BESIDE)
