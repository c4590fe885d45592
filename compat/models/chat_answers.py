"""An answer of chat completions: a message, the chunks of a stream, or a failure.

Whatever a server sent is an answer: what no client could read is a failure with a name
that says why, because a world has to play that, too. Names have the status, the type
and the code that the vendor gave, never its text: that may name people and accounts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from compat.models.chat_parts import MESSAGE, Left, calls_of, extras_of, text_of
from compat.models.errors import ShapeError
from refengine.messages import Message, MessageChunk, join_chunks
from refengine.testing.narrowing import is_list, is_mapping

_WORD: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9_.-]{0,47}|\d{1,5})\Z")
PLAIN_ENDS: Final = frozenset(("stop", "tool_calls", "function_call"))


@dataclass(frozen=True, slots=True)
class Answer:
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


def failed(name: str, *notes: str) -> Answer:
    """Return the answer that is a failure from the start."""
    return Answer(failure=name, notes=notes)


def answer_of(status: int, body: bytes, left: Left) -> Answer:
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


def failure_name(begin: str, tree: Mapping[str, Any], left: Left) -> str:
    """Return how it begins, then type and code: ``HTTP 400 invalid_request_error``.

    The rest of the error is counted in ``left``.
    """
    inner, place = tree, "response"
    if is_mapping(tree.get("error")):
        left.rest(place, tree, {"error"})
        inner, place = tree["error"], "response.error"
    words = {key: _word(inner.get(key)) for key in ("type", "code")}
    left.rest(place, inner, {key for key, word in words.items() if word})
    named = [word for word in words.values() if word and word not in begin.split()]
    return " ".join(dict.fromkeys([begin, *named]))


def _word(value: object) -> str:
    """Return a word that names a cause, or nothing for what may name anything."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and _WORD.match(value) else ""


def _said(status: int, tree: Mapping[str, Any], left: Left) -> Answer:
    left.rest("response", tree, {"choices"})
    choice = first_choice(tree, "response", left)
    if choice is None:
        return failed(f"HTTP {status} without a choice")
    if choice.get("error"):
        return failed(failure_name(f"HTTP {status}", choice, left))
    place = "response.choices[]"
    left.rest(place, choice, {"index", "message"})
    message = choice.get("message")
    if not is_mapping(message):
        return failed(f"HTTP {status} without a message")
    place += ".message"
    left.rest(place, message, MESSAGE)
    content, extra = text_of(message.get("content"), f"{place}.content", left)
    extra |= extras_of(message, place, left)
    calls = calls_of(message, place, left)
    said = Message("assistant", content, calls, extra=extra)
    return Answer(said, notes=end_notes(choice.get("finish_reason")))


def first_choice(
    tree: Mapping[str, Any], place: str, left: Left
) -> Mapping[str, Any] | None:
    """Return the choice that a client takes; others are counted in ``left``."""
    choices = tree.get("choices")
    if choices is None:
        return None
    if not is_list(choices) or not all(map(is_mapping, choices)):
        raise ShapeError(f"{place}.choices", "is no list of objects")
    found = [each for each in choices if each.get("index") in (0, None)]
    for _ in range(len(choices) - len(found[:1])):
        left.one(f"{place}.choices[1:]")
    return found[0] if found else None


def end_notes(reason: object) -> tuple[str, ...]:
    """Tell an end that is no plain one, such as ``length``."""
    if not isinstance(reason, str) or reason in PLAIN_ENDS or not _WORD.match(reason):
        return ()
    return (f"the answer ended by {reason}",)
