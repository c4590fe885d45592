"""A request of chat completions: what the model was asked, with which tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compat.models.chat_parts import (
    MESSAGE,
    LeftOut,
    calls_of,
    extras_of,
    text_of,
    words,
)
from compat.models.errors import ShapeError
from refengine.messages import Message, Role
from refengine.testing.json_values import is_list, is_mapping

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
class RecordedRequest:
    """The messages of a request, the names of its tools, and how it was answered."""

    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    streaming: bool


def request_of(body: bytes, left: LeftOut) -> RecordedRequest:
    """Read the body of a request; raises ShapeError."""
    tree = body_of(body)
    if not is_list(tree.get("messages")):
        raise ShapeError("request", "has no list of messages")
    left.rest("request", tree, _TAKEN)
    messages = tuple(message_of(each, left) for each in tree["messages"])
    return RecordedRequest(messages, _tools(tree, left), tree.get("stream") is True)


def body_of(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object of a request; raises ShapeError."""
    try:
        tree = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ShapeError("request", "has no JSON body") from error
    if not is_mapping(tree):
        raise ShapeError("request", "has a body that is not an object")
    return tree


def message_of(tree: object, left: LeftOut) -> Message:
    """Read one message of a request; raises ShapeError."""
    path = "request.messages[]"
    if not is_mapping(tree):
        raise ShapeError(path, "is not an object")
    role = ROLES.get(str(tree.get("role")))
    if role is None:
        raise ShapeError(f"{path}.role", "is none of chat completions")
    if role != tree["role"]:
        left.one(f"{path}.role={tree['role']}")
    content, extra = text_of(tree.get("content"), f"{path}.content", left)
    if role == "assistant":
        left.rest(path, tree, MESSAGE)
        extra |= extras_of(tree, path, left)
        return Message(role, content, calls_of(tree, path, left), extra=extra)
    left.rest(path, tree, {"role", "content", "tool_call_id"})
    of = words(tree.get("tool_call_id"), path) if role == "tool" else None
    return Message(role, content, tool_call_id=of)


def _tools(tree: Mapping[str, Any], left: LeftOut) -> tuple[str, ...]:
    names = [_tool(each, left) for each in _listed(tree, "tools")]
    old = _listed(tree, "functions")
    names += [_named(each, "request.functions[]", left) for each in old]
    return tuple(name for name in dict.fromkeys(names) if name)


def _listed(tree: Mapping[str, Any], key: str) -> Sequence[object]:
    given = tree.get(key)
    if given is not None and not is_list(given):
        raise ShapeError(f"request.{key}", "is not a list")
    return given or ()


def _tool(tool: object, left: LeftOut) -> str:
    path = "request.tools[]"
    if not is_mapping(tool):
        raise ShapeError(path, "is not an object")
    kind = str(tool.get("type", "function"))
    inner = tool.get(kind)
    if kind not in {"function", "custom"} or not is_mapping(inner):
        left.one(f"{path} of type {kind}")  # run by the vendor, not by an agent
        return ""
    left.rest(path, tool, {"type", kind})
    return _named(inner, f"{path}.{kind}", left)


def _named(function: object, path: str, left: LeftOut) -> str:
    if not is_mapping(function):
        raise ShapeError(path, "is not an object")
    left.rest(path, function, {"name"})
    return words(function.get("name"), f"{path}.name")
