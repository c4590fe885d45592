"""A request of chat completions: what the model was asked, with which tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compat.models.chat_parts import (
    MESSAGE,
    Left,
    calls_of,
    extras_of,
    text_of,
    words,
)
from compat.models.errors import ShapeError
from refengine.messages import Message, Role
from refengine.testing.narrowing import is_list, is_mapping

ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TAKEN: Final = frozenset(("messages", "tools", "functions", "stream"))


@dataclass(frozen=True, slots=True)
class Asked:
    """The messages of a request, the names of its tools, and how it was answered."""

    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    streaming: bool


def asked_of(body: bytes, left: Left) -> Asked:
    """Read the body of a request; raises ShapeError."""
    tree = body_of(body)
    if not is_list(tree.get("messages")):
        raise ShapeError("request", "has no list of messages")
    left.rest("request", tree, _TAKEN)
    messages = tuple(message_of(each, left) for each in tree["messages"])
    return Asked(messages, _tools(tree, left), tree.get("stream") is True)


def body_of(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a request; raises ShapeError."""
    try:
        tree = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ShapeError("request", "has no JSON body") from error
    if not is_mapping(tree):
        raise ShapeError("request", "has a body that is no object")
    return tree


def message_of(tree: object, left: Left) -> Message:
    """Read one message of a request; raises ShapeError."""
    place = "request.messages[]"
    if not is_mapping(tree):
        raise ShapeError(place, "is no object")
    role = ROLES.get(str(tree.get("role")))
    if role is None:
        raise ShapeError(f"{place}.role", "is none of chat completions")
    if role != tree["role"]:
        left.one(f"{place}.role={tree['role']}")
    content, extra = text_of(tree.get("content"), f"{place}.content", left)
    if role == "assistant":
        left.rest(place, tree, MESSAGE)
        extra |= extras_of(tree, place, left)
        return Message(role, content, calls_of(tree, place, left), extra=extra)
    left.rest(place, tree, {"role", "content", "tool_call_id"})
    of = words(tree.get("tool_call_id"), place) if role == "tool" else None
    return Message(role, content, tool_call_id=of)


def _tools(tree: Mapping[str, Any], left: Left) -> tuple[str, ...]:
    names = [_tool(each, left) for each in _listed(tree, "tools")]
    old = _listed(tree, "functions")
    names += [_named(each, "request.functions[]", left) for each in old]
    return tuple(name for name in dict.fromkeys(names) if name)


def _listed(tree: Mapping[str, Any], key: str) -> Sequence[object]:
    given = tree.get(key)
    if given is not None and not is_list(given):
        raise ShapeError(f"request.{key}", "is no list")
    return given or ()


def _tool(tool: object, left: Left) -> str:
    place = "request.tools[]"
    if not is_mapping(tool):
        raise ShapeError(place, "is no object")
    kind = str(tool.get("type", "function"))
    inner = tool.get(kind)
    if kind not in {"function", "custom"} or not is_mapping(inner):
        left.one(f"{place} of type {kind}")  # run by the vendor, not by an agent
        return ""
    left.rest(place, tool, {"type", kind})
    return _named(inner, f"{place}.{kind}", left)


def _named(function: object, place: str, left: Left) -> str:
    if not is_mapping(function):
        raise ShapeError(place, "is no object")
    left.rest(place, function, {"name"})
    return words(function.get("name"), f"{place}.name")
