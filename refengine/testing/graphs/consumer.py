"""The consumer's side of a streamed graph: what it receives, message by message.

Node names differ between the frameworks and with every hook, so a message is told by
where it comes from: the model, the tools, or a hook. What hooks put into a history for
the model alone (system and user messages, removals) is no part of what is consumed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from refengine.messages import Json
from refengine.testing.graphs.messages import calls_of, text_of
from refengine.testing.graphs.values import value_of
from refengine.testing.recorder import Recorder

Held: TypeAlias = "tuple[str | None, dict[str, Json]]"  # a message, and its call if any

MODEL_NODES: Final = frozenset(("agent", "model"))
TOOL_NODES: Final = frozenset(("tools",))


class Consumer:
    """Joins the pieces of a stream to messages, and puts them down when it has ended.

    Not as they come: the consumer of a stream is beside the threads of its graph, and
    where its messages stood among what those do would be luck.
    """

    def __init__(self, recorder: Recorder) -> None:
        """Put down what is received; results of tools in the order of their calls.

        Threads have no order, that of an event loop hangs on how wrappers are written,
        and whichever result is first says nothing.
        """
        self._recorder = recorder
        self._held: list[Held] = []
        self._pieces: list[BaseMessage] = []
        self._from = ""

    def take(self, message: BaseMessage, metadata: Mapping[str, Any]) -> None:
        """Take one piece."""
        if not isinstance(message, (AIMessage, ToolMessage)):
            return
        source = _source(str(metadata.get("langgraph_node")), message)
        known = self._pieces[-1] if self._pieces else None
        if known is not None and (known.id != message.id or source != self._from):
            self.end()
        self._from = source
        self._pieces.append(message)
        if isinstance(message, ToolMessage):
            self.end()  # it comes in one piece, so nothing that fails later cuts it off

    def told(self, data: object) -> None:
        """Take what a hook or a tool wrote to the stream by itself."""
        self.end()
        text = json.dumps(value_of(data), ensure_ascii=False)
        whole: Json = {"text": text, "tool_calls": []}
        self._held.append((None, {"kind": "custom", "agent": "", "whole": whole}))

    def end(self, *, failed: bool = False) -> None:
        """Complete the message that is being received."""
        pieces, self._pieces = self._pieces, []
        if not pieces:
            return
        data: dict[str, Json] = {
            "kind": self._from,
            "agent": "",
            "whole": _whole(pieces),
            "stream": [text for text in map(text_of, pieces) if text],
        }
        if failed:
            data["stream_error"] = "cut off"
        self._held.append((getattr(pieces[0], "tool_call_id", None), data))

    def close(self, *, failed: bool) -> None:
        """Put down all that was received."""
        self.end(failed=failed and self._model_failed())
        for of_tool, some in groupby(
            self._held, lambda held: held[1]["kind"] == "tool"
        ):
            held = list(some)
            if of_tool and len(held) > 1:
                places = self._places()
                held.sort(key=lambda each: places.get(each[0] or "", 0))
            for call_id, data in held:
                self._recorder.add("event", data, call_id)
        self._held.clear()

    def _model_failed(self) -> bool:
        """Tell whether it is the model's stream that was cut, and not a later call."""
        last = self._recorder.last("model_response", "model_error")
        return last is not None and last.kind == "model_error"

    def _places(self) -> Mapping[str, int]:
        """Return the places of the calls of all responses so far."""
        places: dict[str, int] = {}
        for each in self._recorder.trace().of("model_response"):
            message = cast("Mapping[str, Any]", each.data["message"])
            for call in message.get("tool_calls", ()):
                places[call["id"]] = len(places)
        return places


def _source(node: str, message: BaseMessage) -> str:
    if node in MODEL_NODES:
        return "model"
    if node in TOOL_NODES or isinstance(message, ToolMessage):
        return "tool"
    return "hook"


def _whole(pieces: Sequence[BaseMessage]) -> Json:
    text = "".join(map(text_of, pieces))
    calls: Any = ()
    chunks = [each for each in pieces if isinstance(each, AIMessageChunk)]
    if chunks:
        joined = chunks[0]
        for chunk in chunks[1:]:
            joined += chunk
        calls = calls_of(joined).get("tool_calls", ())
    elif isinstance(pieces[0], AIMessage):
        calls = calls_of(pieces[0]).get("tool_calls", ())
    return {
        "text": text,
        "tool_calls": [[c["id"], c["name"], c["arguments"]] for c in calls],
    }
