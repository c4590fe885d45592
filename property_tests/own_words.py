"""How engines put into words what is the same thing: no clause is about that."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from compat.profiles.confirming import without_own_words
from refengine.messages import Json
from refengine.testing.trace import Observation, Trace

PIECE: Final = ")][None:None("
"""Stands in what an event shows between two pieces of the arguments of a call."""


class OwnWords:
    """The words of an engine in one trace, and the texts of it without them.

    A tool or a step that is missing is told to a model or a consumer; so is, where an
    engine answers it, what a tool raised: there the error's own text counts alone.
    """

    def __init__(self, trace: Trace) -> None:
        self._raised = defaultdict[str | None, set[str]](set)
        for each in trace.of("tool_error"):
            if each.data["error"]:
                self._raised[each.call_id].add(str(each.data["error"]))

    def without(self, text: str, call_id: str | None = None) -> str:
        """Return a text, of a call's result if it is one, without such words."""
        for raised in self._raised.get(call_id, ()):
            if text.endswith(raised):
                return f"<raised> {raised}"
        return without_own_words(text)

    def leave_out_of(self, message: Json) -> None:
        """Take them out of a message."""
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            call_id = message.get("tool_call_id")
            of = call_id if isinstance(call_id, str) else None
            message["content"] = self.without(str(message["content"]), of)

    def shown(self, event: Observation) -> str | None:
        """Return what an event shows, as far as it came; None if it shows no message.

        Calls that are streamed may come in pieces or joined, those of several calls
        mixed: then which characters they have is all that is the same.
        """
        data: Any = event.data
        parts = data["stream"] if "stream" in data else [data.get("message")]
        if None in parts:
            return None
        end = "):" if data["kind"] == "tool" else ":"
        whole = "".join(str(each).partition(end)[2] for each in parts)
        shown = self.without(whole, event.call_id)
        text, _, calls = shown.replace(PIECE, "").partition("[")
        mixed = "stream" in data and calls.count("[")
        return f"{text}[{''.join(sorted(calls)) if mixed else calls}"
