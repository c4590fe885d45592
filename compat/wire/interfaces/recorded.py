"""Recorded answers: what a model said, in one piece or in a stream, or how it failed.

Each interface reads its own: the parts of a body, and the events of a stream, which
become a chunk each as they were cut. What no client could read is a failure with a name
that says why, because a world has to play that, too.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from compat.wire.exchanges import Response, first
from compat.wire.interfaces.request import REASONING, Tree, object_of
from compat.wire.sse import ServerSentEvent
from refengine.messages import (
    Json,
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
    join_chunks,
)
from refengine.testing.json_values import is_mapping

DONE: Final = "[DONE]"
CUT: Final = "the stream ends before the answer does"
NO_ANSWER: Final = "the stream has no answer"
_STREAM: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
SaidPart: TypeAlias = "tuple[Literal['text', 'refusal', 'reasoning'], str] | ToolCall"
"""A part of an answer: a text of a kind, or a call."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """What the model said: a message, or chunks; then, if named, the failure.

    ``notes`` tell what a reader of the world should know of it.
    """

    message: Message | None = None
    chunks: tuple[MessageChunk, ...] = ()
    failure: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> Message | None:
        """The message in one piece, or None if it failed."""
        if self.failure is not None:
            return None
        return self.message if self.message is not None else join_chunks(self.chunks)


def failed(name: str, *notes: str) -> RecordedAnswer:
    """Return the answer that is a failure from the start."""
    return RecordedAnswer(failure=name, notes=notes)


def is_streamed(response: Response) -> bool:
    """Tell whether the body is a stream of events, whatever its header says."""
    body = response.body.lstrip(b"\xef\xbb\xbf \r\n\t")
    if body.startswith(_STREAM):
        return True
    streams = "event-stream" in first(response.headers, "content-type")
    return streams and not body.startswith(b"{")


def message_of(parts: Iterable[SaidPart]) -> Message:
    """Return an answer as a message: texts, calls, and in ``extra`` the rest."""
    texts = {"text": "", "refusal": "", REASONING: ""}
    calls: list[ToolCall] = []
    for each in parts:
        if isinstance(each, ToolCall):
            calls.append(each)
        else:
            texts[each[0]] += each[1]
    text = texts.pop("text")
    extra: dict[str, Json] = {key: said for key, said in texts.items() if said}
    return Message("assistant", text, tuple(calls), extra=extra)


def text_of(value: object) -> str:
    """Return a text, and nothing for what is none."""
    return value if isinstance(value, str) else ""


class AnswerReader(ABC):
    """Reads the events of one stream; where one cannot be read, the stream fails."""

    def __init__(self) -> None:
        self.chunks: list[MessageChunk] = []
        self.notes: list[str] = []
        self.ended = False

    def read(self, events: Iterable[ServerSentEvent]) -> RecordedAnswer:
        """Return the answer that the events tell."""
        failure = self._failure(events)
        if not self.chunks:
            return failed(failure or NO_ANSWER, *self.notes)
        if failure is None and not self.ended:
            failure = CUT
        chunks, notes = tuple(self.chunks), tuple(self.notes)
        return RecordedAnswer(chunks=chunks, failure=failure, notes=notes)

    def _failure(self, events: Iterable[ServerSentEvent]) -> str | None:
        for event in events:
            if event.data.strip() == DONE:
                self.ended = True
                return None
            failure = self.taken(event)
            if failure is not None:
                return failure
        return None

    def taken(self, event: ServerSentEvent) -> str | None:
        """Take an event in; return how the stream fails there, if it does."""
        try:
            tree = json.loads(event.data)
        except (ValueError, RecursionError):
            return "an event that is not JSON"
        if not is_mapping(tree):
            return self.unread(tree)
        if "error" in (event.type, tree.get("type")) or tree.get("error"):
            return self.failed(tree)
        return self.event(tree)

    def unread(self, _: object) -> str | None:
        """Take in JSON that is no object; return how the stream fails there."""
        return None

    def failed(self, tree: Tree) -> str:
        """Return the name of an error that a vendor tells in a stream."""
        inner = object_of(tree, "error")
        return f"in stream {inner.get('status') or inner.get('type') or ''}".strip()

    @abstractmethod
    def event(self, tree: Tree) -> str | None:
        """Take an event in that is no error; return how the stream fails there."""

    def say(self, text: str = "", *calls: ToolCallChunk) -> None:
        """Add a chunk."""
        self.chunks.append(MessageChunk(text, calls))
