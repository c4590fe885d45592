"""The events of a stream as the one body that they tell piece by piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from compat.wire.interfaces.anthropic import ANTHROPIC
from compat.wire.interfaces.chat import CHAT
from compat.wire.interfaces.gemini import GEMINI
from compat.wire.interfaces.responses import RESPONSES
from compat.wire.interfaces.said import Tree, objects, text_of, without
from refengine.testing.json_values import is_mapping

ENDED: Final = frozenset(
    ("response.completed", "response.incomplete", "response.failed")
)


class UnendedStreamError(ValueError):
    """A stream of which the end is missing, so that it tells no whole answer."""

    def __init__(self, interface: str) -> None:
        self.interface = interface
        super().__init__(f"the stream of {interface} has no end: record it again")


def folded(interface: str, events: Iterable[Tree]) -> dict[str, Any]:
    """Return the whole body; raises UnendedStreamError."""
    return _FOLDS[interface](events)


def _chat(events: Iterable[Tree]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for event in events:
        if is_mapping(event.get("error")):
            return dict(event)
        given = {k: v for k, v in event.items() if k != "choices" and v is not None}
        body.update(given)
        for choice in objects(event.get("choices")):
            index = choice.get("index", 0)
            _choice(choices.setdefault(index, {"index": index, "message": {}}), choice)
    if not any(each.get("finish_reason") for each in choices.values()):
        raise UnendedStreamError(CHAT)
    for each in choices.values():
        calls = each["message"].get("tool_calls")
        if calls is not None:
            each["message"]["tool_calls"] = [without(c, "index") for c in calls]
    body["object"] = "chat.completion"
    return {**body, "choices": [choices[at] for at in sorted(choices)]}


def _choice(into: dict[str, Any], choice: Tree) -> None:
    given = without(choice, "delta", "index")
    into.update({k: v for k, v in given.items() if v is not None or k not in into})
    message = into["message"]
    delta: Tree = choice.get("delta") or {}
    for key, value in delta.items():
        if key == "tool_calls":
            for each in objects(value):
                _piece(message.setdefault(key, []), each)
        elif isinstance(value, str) and key != "role":
            message[key] = text_of(message.get(key)) + value
        elif value is not None or key not in message:
            message[key] = deepcopy(value)


def _piece(calls: list[dict[str, Any]], piece: Tree) -> None:
    index = piece.get("index", len(calls) - 1)
    call = next((each for each in calls if each["index"] == index), None)
    if call is None:
        call = {"index": index, "function": {"name": "", "arguments": ""}}
        calls.append(call)
    call.update({k: v for k, v in without(piece, "index", "function").items() if v})
    inner: Tree = piece.get("function") or {}
    for key in ("name", "arguments"):
        call["function"][key] += text_of(inner.get(key))


_DELTAS: Final[Mapping[str, str]] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}


def _anthropic(events: Iterable[Tree]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    ended = False
    for event in events:
        kind = event.get("type")
        if kind == "error":
            return dict(event)
        if kind == "message_start":
            body = deepcopy(dict(event["message"]))
        elif kind == "content_block_start":
            blocks[event["index"]] = deepcopy(dict(event["content_block"]))
        elif kind == "content_block_delta":
            _delta(blocks[event["index"]], event, inputs)
        elif kind == "message_delta":
            body.update({**event["delta"], **without(event, "type", "delta", "usage")})
            body["usage"] = {**body.get("usage", {}), **event.get("usage", {})}
        ended |= kind == "message_stop"
    if not ended:
        raise UnendedStreamError(ANTHROPIC)
    for at, text in inputs.items():
        blocks[at]["input"] = json.loads(text or "{}")
    return {**body, "content": [blocks[at] for at in sorted(blocks)]}


def _delta(block: dict[str, Any], event: Tree, inputs: dict[int, str]) -> None:
    delta: Tree = event["delta"]
    kind = str(delta.get("type"))
    if kind == "input_json_delta":
        at = event["index"]
        inputs[at] = inputs.get(at, "") + text_of(delta.get("partial_json"))
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
    elif kind in _DELTAS:
        key = _DELTAS[kind]
        block[key] = text_of(block.get(key)) + text_of(delta.get(key))


def _gemini(events: Iterable[Tree]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    first: dict[str, Any] = {}
    parts: list[dict[str, Any]] = []
    for event in events:
        if is_mapping(event.get("error")):
            return dict(event)
        body.update(without(event, "candidates"))
        for candidate in objects(event.get("candidates"))[:1]:
            content: Tree = candidate.get("content") or {}
            first.update(without(candidate, "content"))
            first["content"] = {**first.get("content", {}), **without(content, "parts")}
            for part in objects(content.get("parts")):
                _part(parts, part)
    if "finishReason" not in first:
        raise UnendedStreamError(GEMINI)
    first["content"]["parts"] = parts
    return {**body, "candidates": [first]}


def _part(parts: list[dict[str, Any]], part: Tree) -> None:
    """Put a part behind the others; a text goes on with the one before."""
    last = parts[-1] if parts else {}
    both = isinstance(last.get("text"), str) and isinstance(part.get("text"), str)
    if both and without(last, "text") == without(part, "text"):
        last["text"] += part["text"]
    else:
        parts.append(dict(part))


def _responses(events: Iterable[Tree]) -> dict[str, Any]:
    for event in events:
        if event.get("type") == "error":
            return {"error": without(event, "type", "sequence_number")}
        if event.get("type") in ENDED:
            return dict(event["response"])
    raise UnendedStreamError(RESPONSES)


_FOLDS: Final[Mapping[str, Callable[[Iterable[Tree]], dict[str, Any]]]] = {
    CHAT: _chat,
    ANTHROPIC: _anthropic,
    GEMINI: _gemini,
    RESPONSES: _responses,
}
