"""How engines put into words what is the same thing: no clause is about that."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, Final

from refengine.loop import APOLOGY
from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.trace import Observation, Trace
from refengine.tool_calls import absent_text

PIECE: Final = ")][None:None("
"""Stands in what an event shows between two pieces of the arguments of a call."""
_ABSENT: Final = re.compile(
    "|".join(
        (
            re.escape(absent_text("@", ["@"])).replace("@", ".*?"),
            r"Error: .*? is not a valid tool, try one of \[.*?\]\.",
            r"Unknown tool name: '.*?'\. (?:Available tools: .*|No tools available\.)",
            (
                r"(?:AI_NoSuchToolError: )?Model tried to call unavailable tool '.*?'\."
                r" (?:Available tools: [^.]*|No tools are available)\."
            ),
            r"Unknown tool: [\w-]+",
        )
    )
)
_APOLOGY: Final = re.compile(
    "|".join((re.escape(APOLOGY), r"Sorry, need more steps[^.]*\."))
)


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
        raised = [e for e in self._raised.get(call_id, ()) if text.endswith(e)]
        if raised:
            return f"<raised> {max(raised, key=len)}"
        return _APOLOGY.sub("<apology>", _ABSENT.sub("<no such tool>", text))

    def without_any(self, value: Any, call_id: str | None = None) -> Any:  # noqa: ANN401  # JSON values
        """Return JSON values without such words in any text of them."""
        if isinstance(value, str):
            return self.without(value, call_id)
        if is_mapping(value):
            of = value.get("tool_call_id") or call_id
            return {key: self.without_any(each, of) for key, each in value.items()}
        if is_list(value):
            return [self.without_any(each, call_id) for each in value]
        return value

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
