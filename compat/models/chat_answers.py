"""An answer of chat completions, whole or as a stream: a message, chunks, or a failure.

Whatever a server sent is an answer: what no client could read is a failure with a name
that says why, because a world has to play that, too. Names have the status, the type
and the code that the vendor gave, never its text: that may name people and accounts.

Texts beside the content (a refusal, reasoning) come in pieces, too; the whole stands
in ``extra`` of the chunk that brings the last one, since later keys win in a join.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from compat.models.chat_requests import (
    MESSAGE,
    LeftOut,
    calls_of,
    extras_of,
    function_of,
    index_of,
    named_of,
    text_of,
    words,
)
from compat.models.errors import ShapeError
from compat.wire.interfaces.recorded import AnswerReader, RecordedAnswer, failed
from compat.wire.sse import ServerSentEvent, events_of
from refengine.messages import Message, MessageChunk, ToolCallChunk
from refengine.testing.json_values import is_list, is_mapping

_WORD: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9_.-]{0,47}|\d{1,5})\Z")
PLAIN_ENDS: Final = frozenset(("stop", "tool_calls", "function_call"))


def answer_of(status: int, body: bytes, left: LeftOut) -> RecordedAnswer:
    """Read an answer that came in one piece, or an error."""
    try:
        tree = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        tree = None
    if not is_mapping(tree):
        left.one("response")
        return failed(f"HTTP {status} without a JSON object")
    if status >= 300 or tree.get("error"):
        return failed(failure_name(f"HTTP {status}", tree, left))
    try:
        return _said(status, tree, left)
    except ShapeError as error:
        return failed(f"HTTP {status} of another shape", str(error))


def failure_name(begin: str, tree: Mapping[str, Any], left: LeftOut) -> str:
    """Return how it begins, then type and code: ``HTTP 400 invalid_request_error``.

    The rest of the error is counted in ``left``.
    """
    inner, path = tree, "response"
    if is_mapping(tree.get("error")):
        left.rest(path, tree, {"error"})
        inner, path = tree["error"], "response.error"
    words = {key: _word(inner.get(key)) for key in ("type", "code")}
    left.rest(path, inner, {key for key, word in words.items() if word})
    named = [word for word in words.values() if word and word not in begin.split()]
    return " ".join(dict.fromkeys([begin, *named]))


def _word(value: object) -> str:
    """Return a word that names a cause, or nothing for what may name anything."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and _WORD.match(value) else ""


def _said(status: int, tree: Mapping[str, Any], left: LeftOut) -> RecordedAnswer:
    left.rest("response", tree, {"choices"})
    choice = first_choice(tree, "response", left)
    if choice is None:
        return failed(f"HTTP {status} without a choice")
    if choice.get("error"):
        return failed(failure_name(f"HTTP {status}", choice, left))
    path = "response.choices[]"
    left.rest(path, choice, {"index", "message"})
    message = choice.get("message")
    if not is_mapping(message):
        return failed(f"HTTP {status} without a message")
    path += ".message"
    left.rest(path, message, MESSAGE)
    content, extra = text_of(message.get("content"), f"{path}.content", left)
    extra |= extras_of(message, path, left)
    calls = calls_of(message, path, left)
    said = Message("assistant", content, calls, extra=extra)
    return RecordedAnswer(said, notes=end_notes(choice.get("finish_reason")))


def first_choice(
    tree: Mapping[str, Any], path: str, left: LeftOut
) -> Mapping[str, Any] | None:
    """Return the choice that a client takes; others are counted in ``left``."""
    choices = tree.get("choices")
    if choices is None:
        return None
    if not is_list(choices) or not all(map(is_mapping, choices)):
        raise ShapeError(f"{path}.choices", "is not a list of objects")
    found = [each for each in choices if each.get("index") in (0, None)]
    for _ in range(len(choices) - len(found[:1])):
        left.one(f"{path}.choices[1:]")
    return found[0] if found else None


def end_notes(reason: object) -> tuple[str, ...]:
    """Tell an end that is not a plain one, such as ``length``."""
    if not isinstance(reason, str) or reason in PLAIN_ENDS or not _WORD.match(reason):
        return ()
    return (f"the answer ended by {reason}",)


class CallIndexes:
    """Gives each call of a streamed answer an index that only it has.

    By the API the index tells calls apart. Some servers leave it out, and some give
    all calls the same: then an id of its own that comes with a name begins another
    call, and a piece without an id goes on with the last one.
    """

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}
        self._latest: dict[int | None, int] = {}
        self.renumbered = False

    def of(self, given: int | None, id_: str, name: str) -> int:
        """Return the index of the call that a piece with these belongs to."""
        at = self._latest.get(given)
        if at is not None and not self._another(at, given, id_, name):
            self._ids[at] = self._ids[at] or id_
            return at
        known = [index for index, each in self._ids.items() if id_ and each == id_]
        free = given is not None and given not in self._ids
        if known and not free:
            found = known[0]
        else:
            found = given if given is not None and free else self._next()
            self._ids[found] = id_
            self.renumbered |= found != given
        self._latest[given] = found
        return found

    def _another(self, at: int, given: int | None, id_: str, name: str) -> bool:
        """Tell whether a piece is of another call than the last of its index."""
        if not id_:
            return given is None and bool(name)
        return self._ids[at] not in {"", id_} and (bool(name) or given is None)

    def _next(self) -> int:
        return 1 + max(self._ids, default=-1)


def stream_of(body: bytes, left: LeftOut) -> RecordedAnswer:
    """Read a streamed answer; what cannot be read is where the stream fails."""
    events, unended = events_of([body])
    if unended:
        left.one("the last event, which nothing ends")
    return _ChatStream(left).read(events)


class _ChatStream(AnswerReader):
    """Reads the chunks of a stream, as vendors cut them."""

    def __init__(self, left: LeftOut) -> None:
        super().__init__()
        self.left = left
        self.extra: dict[str, str] = {}
        self.extra_at: dict[str, int] = {}
        self.indexes = CallIndexes()

    def read(self, events: Iterable[ServerSentEvent]) -> RecordedAnswer:
        """Return the answer that the events tell, texts beside the content whole."""
        found = super().read(events)
        notes, chunks = found.notes, list(found.chunks)
        if chunks and self.indexes.renumbered:
            notes += ("calls that share an index, or have none, are numbered",)
        for key, at in self.extra_at.items():
            extra = {**chunks[at].extra, key: self.extra[key]}
            chunks[at] = replace(chunks[at], extra=extra)
        return replace(found, notes=notes, chunks=tuple(chunks))

    def taken(self, event: ServerSentEvent) -> str | None:
        """Take an event in; return how the stream fails there, if it does."""
        try:
            return super().taken(event)
        except ShapeError as error:
            self.notes.append(str(error))
            return "an event of another shape"

    def unread(self, _: object) -> str | None:
        """Take in JSON that is no object; raises ShapeError."""
        raise ShapeError("event", "is not an object")

    def failed(self, tree: Mapping[str, Any]) -> str:
        """Return the name of an error that a vendor tells in a stream."""
        return failure_name("in stream", tree, self.left)

    def event(self, tree: Mapping[str, Any]) -> str | None:
        """Take an event in that is no error; return how the stream fails there."""
        self.left.rest("event", tree, {"choices"})
        choice = first_choice(tree, "event", self.left)
        if choice is not None and choice.get("error"):
            return self.failed(choice)
        if choice is not None:
            self.choice(choice)
        return None

    def choice(self, choice: Mapping[str, Any]) -> None:
        """Make a chunk of one choice."""
        path = "event.choices[]"
        # Some servers put the pieces under the name of the whole.
        key = "delta" if choice.get("delta") is not None else "message"
        self.left.rest(path, choice, {"index", key})
        reason = choice.get("finish_reason")
        if reason is not None:
            self.ended = True
            self.notes.extend(end_notes(reason))
        delta = choice.get(key)
        if delta is None:
            self.chunks.append(MessageChunk())
            return
        if not is_mapping(delta):
            raise ShapeError(f"{path}.{key}", "is not an object")
        self.left.rest(f"{path}.{key}", delta, MESSAGE)
        self.delta(delta, f"{path}.{key}")

    def delta(self, delta: Mapping[str, Any], path: str) -> None:
        """Make a chunk of what came."""
        content, extra = text_of(delta.get("content"), f"{path}.content", self.left)
        pieces = self.pieces(delta, path)
        for key, text in {**extra, **extras_of(delta, path, self.left)}.items():
            self.extra[key] = self.extra.get(key, "") + text
            self.extra_at[key] = len(self.chunks)
        self.chunks.append(MessageChunk(content, pieces))

    def pieces(self, delta: Mapping[str, Any], path: str) -> tuple[ToolCallChunk, ...]:
        """Return the pieces of calls that came."""
        given = delta.get("tool_calls")
        if given is not None and not is_list(given):
            raise ShapeError(f"{path}.tool_calls", "is not a list")
        found = [self.piece(each, f"{path}.tool_calls[]") for each in given or ()]
        old = delta.get("function_call")
        if old is not None:
            named = function_of(old, f"{path}.function_call", self.left)
            found.append(ToolCallChunk(self.indexes.of(0, "", ""), "", *named))
        return tuple(found)

    def piece(self, call: object, path: str) -> ToolCallChunk:
        """Return one piece of a call, with an index that only its call has."""
        if not is_mapping(call):
            raise ShapeError(path, "is not an object")
        name, arguments = named_of(call, path, self.left)
        id_ = words(call.get("id"), f"{path}.id")
        index = self.indexes.of(index_of(call), id_, name)
        return ToolCallChunk(index, id_, name, arguments)
