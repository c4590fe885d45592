"""The consumer's side of a streamed graph: what it receives, message by message.

Node names differ between the frameworks and with every hook, so a message is told by
where it comes from: the model, the tools, or a hook. What hooks put into a history for
the model alone (system and user messages, removals) is no part of what is consumed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from refengine.messages import Json
from refengine.testing.graphs.messages import calls_of, text_of
from refengine.testing.graphs.values import value_of
from refengine.testing.recorder import Recorder

Held: TypeAlias = "tuple[str, dict[str, Json]]"  # a tool's result and its call

MODEL_NODES: Final = frozenset(("agent", "model"))
TOOL_NODES: Final = frozenset(("tools",))


class Consumer:
    """Joins the pieces of a stream to messages, and puts each down when it is whole."""

    def __init__(self, recorder: Recorder, *, in_order: bool) -> None:
        """Put down what is received; results of tools ``in_order`` of their calls.

        Threads have no order, and whichever result is first says nothing.
        """
        self._recorder = recorder
        self._in_order = in_order
        self._waiting: list[Held] = []
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

    def told(self, data: object) -> None:
        """Take what a hook or a tool wrote to the stream by itself."""
        self.end()
        self._let_go()
        text = json.dumps(value_of(data), ensure_ascii=False)
        whole: Json = {"text": text, "tool_calls": []}
        self._recorder.add("event", {"kind": "custom", "agent": "", "whole": whole})

    def end(self, *, failed: bool = False) -> None:
        """Put down the message that is complete now, or will never be."""
        pieces, self._pieces = self._pieces, []
        if not pieces:
            return
        call_id = getattr(pieces[0], "tool_call_id", None)
        data: dict[str, Json] = {
            "kind": self._from,
            "agent": "",
            "whole": _whole(pieces),
            "stream": [text for text in map(text_of, pieces) if text],
        }
        if failed:
            data["stream_error"] = "cut off"
        if self._in_order and self._from == "tool":
            self._waiting.append((call_id or "", data))
            return
        self._let_go()
        self._recorder.add("event", data, call_id)

    def close(self, *, failed: bool) -> None:
        """Put down what is left at the end of the stream."""
        self.end(failed=failed)
        self._let_go()

    def _let_go(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        order = self._order()
        for call_id, data in sorted(waiting, key=lambda held: order.get(held[0], 0)):
            self._recorder.add("event", data, call_id)

    def _order(self) -> Mapping[str, int]:
        """Return the places of the calls of all responses so far.

        The next response may be there already, as the model is in another thread.
        """
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
