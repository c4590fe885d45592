"""A request of chat completions, and the parts that answers have in common with it.

Vendors agree on the names and differ in the shapes: text is a string, null, or a list
of parts; a call may lack its type, its id or its arguments. What is neither text nor a
call nor kept in ``extra`` is counted in ``LeftOut`` by its place, so that nothing is
dropped without a word.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from compat.models.errors import ShapeError
from refengine.messages import Json, Message, Role, ToolCall
from refengine.testing.json_values import is_list, is_mapping

EXTRAS: Final = ("refusal", "reasoning", "reasoning_content")
"""Texts beside the content, which go to ``extra`` under the vendor's own name."""
_PART_EXTRAS: Final = {"refusal": "refusal", "thinking": "thinking"}
MESSAGE: Final = frozenset(("role", "content", "tool_calls", "function_call", *EXTRAS))
_CALL: Final = frozenset(("id", "index", "type", "function", "custom"))


class LeftOut:
    """Counts what is not carried, by its place; null is nothing."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def rest(self, path: str, tree: Mapping[str, Any], taken: AbstractSet[str]) -> None:
        """Count the keys of an object that nobody took."""
        for key, value in tree.items():
            if key not in taken and value is not None:
                self.found[f"{path}.{key}"] += 1

    def one(self, path: str) -> None:
        """Count one thing that is not carried."""
        self.found[path] += 1


def text_of(content: object, path: str, left: LeftOut) -> tuple[str, dict[str, str]]:
    """Return the text of a content and what of it goes to ``extra``.

    Parts are put one behind the other, as the pieces of a stream are. Raises
    ShapeError.
    """
    if content is None or isinstance(content, str):
        return content or "", {}
    if not is_list(content):
        raise ShapeError(path, "is not text or a list of parts")
    texts: list[str] = []
    extra: dict[str, str] = {}
    for part in content:
        kind, text = _part(part, path, left)
        if kind == "text":
            texts.append(text)
        elif text:
            extra[kind] = extra.get(kind, "") + text
    return "".join(texts), extra


def _part(part: object, path: str, left: LeftOut) -> tuple[str, str]:
    """Return where the text of a part goes, and the text."""
    if isinstance(part, str):
        return "text", part
    if not is_mapping(part):
        raise ShapeError(path, "has a part that is not text or an object")
    kind = str(part.get("type", "text"))
    if kind in {"text", "input_text", "output_text"}:
        left.rest(f"{path}[{kind}]", part, {"type", "text"})
        return "text", words(part.get("text"), f"{path}[{kind}].text")
    if kind in _PART_EXTRAS:
        left.rest(f"{path}[{kind}]", part, {"type", kind})
        text, _ = text_of(part.get(kind), f"{path}[{kind}]", left)
        return _PART_EXTRAS[kind], text
    left.one(f"{path}[{kind}]")
    return kind, ""


def extras_of(message: Mapping[str, Any], path: str, left: LeftOut) -> dict[str, str]:
    """Return the texts beside the content that are not empty."""
    found: dict[str, str] = {}
    for key in EXTRAS:
        value = message.get(key)
        if isinstance(value, str):
            found |= {key: value} if value else {}
        elif value is not None:
            left.one(f"{path}.{key}")
    return found


def calls_of(
    message: Mapping[str, Any], path: str, left: LeftOut
) -> tuple[ToolCall, ...]:
    """Return the calls of a whole message, old and new form; raises ShapeError."""
    calls = message.get("tool_calls")
    if calls is not None and not is_list(calls):
        raise ShapeError(f"{path}.tool_calls", "is not a list")
    found = [_call(each, f"{path}.tool_calls[]", left) for each in calls or ()]
    old = message.get("function_call")
    if old is not None:
        found.append(ToolCall("", *function_of(old, f"{path}.function_call", left)))
    return tuple(found)


def _call(call: object, path: str, left: LeftOut) -> ToolCall:
    if not is_mapping(call):
        raise ShapeError(path, "is not an object")
    name, arguments = named_of(call, path, left)
    return ToolCall(words(call.get("id"), f"{path}.id"), name, arguments)


def named_of(call: Mapping[str, Any], path: str, left: LeftOut) -> tuple[str, str]:
    """Return name and arguments of a call or a piece of one, as far as it has them."""
    left.rest(path, call, _CALL)
    kind = call.get("type")
    if kind and kind != "function":
        left.one(f"{path}.type={kind}")
    if call.get("custom") is not None:
        return function_of(call["custom"], f"{path}.custom", left, "input")
    return function_of(call.get("function"), f"{path}.function", left)


def function_of(
    function: object, path: str, left: LeftOut, key: str = "arguments"
) -> tuple[str, str]:
    """Return name and arguments; arguments that came as a tree are written as JSON."""
    if function is None:
        return "", ""
    if not is_mapping(function):
        raise ShapeError(path, "is not an object")
    left.rest(path, function, {"name", key})
    arguments: Json = function.get(key)
    if is_mapping(arguments) or is_list(arguments):
        left.one(f"{path}.{key} as a tree")
        arguments = json.dumps(arguments, ensure_ascii=False)
    name = words(function.get("name"), f"{path}.name")
    return name, words(arguments, f"{path}.{key}")


def words(value: object, path: str) -> str:
    """Return a text, of null the empty one and of a number its digits."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ShapeError(path, "is not text")
    return value


def index_of(call: Mapping[str, Any]) -> int | None:
    """Return the index of a piece of a call, or None if it has none."""
    index = call.get("index")
    return index if type(index) is int and index >= 0 else None


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
