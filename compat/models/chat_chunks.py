"""The stream of an answer of chat completions: each event a chunk, cut as recorded.

Texts beside the content (a refusal, reasoning) come in pieces, too; the whole stands
in ``extra`` of the chunk that brings the last one, since later keys win in a join.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from compat.models.chat_answers import (
    Answer,
    end_notes,
    failed,
    failure_name,
    first_choice,
)
from compat.models.chat_calls import Places
from compat.models.chat_parts import (
    MESSAGE,
    Left,
    extras_of,
    function_of,
    index_of,
    named_of,
    text_of,
    words,
)
from compat.models.errors import ShapeError
from compat.models.sse import Event, events_of
from refengine.messages import MessageChunk, ToolCallChunk
from refengine.testing.narrowing import is_list, is_mapping

DONE = "[DONE]"
CUT = "the stream ends before the answer does"
NO_ANSWER = "the stream has no answer"


def stream_of(body: bytes, left: Left) -> Answer:
    """Read a streamed answer; what cannot be read is where the stream fails."""
    events, unended = events_of([body])
    if unended:
        left.one("the last event, which nothing ends")
    reading = _Reading(left)
    failure = reading.all(events)
    chunks = reading.chunks
    if not chunks:
        return failed(failure or NO_ANSWER, *reading.notes)
    if failure is None and not reading.ended:
        failure = CUT
    if reading.places.renumbered:
        reading.notes.append("calls that share an index, or have none, are numbered")
    for key, at in reading.extra_at.items():
        extra = {**chunks[at].extra, key: reading.extra[key]}
        chunks[at] = replace(chunks[at], extra=extra)
    return Answer(chunks=tuple(chunks), failure=failure, notes=tuple(reading.notes))


@dataclass
class _Reading:
    """What was read of one stream so far."""

    left: Left
    chunks: list[MessageChunk] = field(default_factory=list[MessageChunk])
    notes: list[str] = field(default_factory=list[str])
    extra: dict[str, str] = field(default_factory=dict[str, str])
    extra_at: dict[str, int] = field(default_factory=dict[str, int])
    places: Places = field(default_factory=Places)
    ended: bool = False

    def all(self, events: Iterable[Event]) -> str | None:
        """Read the events up to the end; return how the stream failed, if it did."""
        for event in events:
            if event.data.strip() == DONE:
                self.ended = True
                return None
            try:
                failure = self.event(event)
            except ShapeError as error:
                self.notes.append(str(error))
                failure = "an event of another shape"
            if failure is not None:
                return failure
        return None

    def event(self, event: Event) -> str | None:
        """Read one event; return the failure that it is, if it is one."""
        try:
            tree = json.loads(event.data)
        except (ValueError, RecursionError):
            return "an event that is no JSON"
        if not is_mapping(tree):
            raise ShapeError("event", "is no object")
        if event.type == "error" or tree.get("error"):
            return failure_name("in stream", tree, self.left)
        self.left.rest("event", tree, {"choices"})
        choice = first_choice(tree, "event", self.left)
        if choice is not None and choice.get("error"):
            return failure_name("in stream", choice, self.left)
        if choice is not None:
            self.choice(choice)
        return None

    def choice(self, choice: Mapping[str, Any]) -> None:
        """Make a chunk of one choice."""
        place = "event.choices[]"
        # Some servers put the pieces under the name of the whole.
        key = "delta" if choice.get("delta") is not None else "message"
        self.left.rest(place, choice, {"index", key})
        reason = choice.get("finish_reason")
        if reason is not None:
            self.ended = True
            self.notes.extend(end_notes(reason))
        delta = choice.get(key)
        if delta is None:
            self.chunks.append(MessageChunk())
            return
        if not is_mapping(delta):
            raise ShapeError(f"{place}.{key}", "is no object")
        self.left.rest(f"{place}.{key}", delta, MESSAGE)
        self.delta(delta, f"{place}.{key}")

    def delta(self, delta: Mapping[str, Any], place: str) -> None:
        """Make a chunk of what came."""
        content, extra = text_of(delta.get("content"), f"{place}.content", self.left)
        pieces = self.pieces(delta, place)
        for key, text in {**extra, **extras_of(delta, place, self.left)}.items():
            self.extra[key] = self.extra.get(key, "") + text
            self.extra_at[key] = len(self.chunks)
        self.chunks.append(MessageChunk(content, pieces))

    def pieces(self, delta: Mapping[str, Any], place: str) -> tuple[ToolCallChunk, ...]:
        """Return the pieces of calls that came."""
        given = delta.get("tool_calls")
        if given is not None and not is_list(given):
            raise ShapeError(f"{place}.tool_calls", "is no list")
        found = [self.piece(each, f"{place}.tool_calls[]") for each in given or ()]
        old = delta.get("function_call")
        if old is not None:
            named = function_of(old, f"{place}.function_call", self.left)
            found.append(ToolCallChunk(self.places.of(0, "", ""), "", *named))
        return tuple(found)

    def piece(self, call: object, place: str) -> ToolCallChunk:
        """Return one piece of a call, with an index that only its call has."""
        if not is_mapping(call):
            raise ShapeError(place, "is no object")
        name, arguments = named_of(call, place, self.left)
        id_ = words(call.get("id"), f"{place}.id")
        index = self.places.of(index_of(call), id_, name)
        return ToolCallChunk(index, id_, name, arguments)
