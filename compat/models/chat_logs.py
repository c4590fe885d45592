"""Chats and tools as logs hold them, read whatever the shape.

Messages are those of chat completions, of Anthropic's blocks, or of LangChain, as
``{"role": "user", "content": "hi"}`` or ``{"type": "human", "data": {…}}``. Tools are
declared by vendors and MCP servers with a name, a text, and a JSON schema:

{"type": "function", "function": {"name": "pay", "parameters": {…}}}    OpenAI
{"name": "pay", "input_schema": {…}}                                   Anthropic
{"tools": [{"name": "pay", "inputSchema": {…}}]}                       MCP, tools/list
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from compat.models.chat_requests import LeftOut, message_of
from compat.models.errors import BadPlace, GivenFileError, ShapeError
from compat.wire.interfaces.chat import chat_call
from compat.wire.json_trees import DEPTH, shallow
from refengine.messages import Message
from refengine.testing.given_text import read_json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.subject_worlds.declared import DeclaredTool

TYPES: Final[Mapping[str, str]] = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "tool": "tool",
    "user": "user",
    "assistant": "assistant",
}
"""LangChain's types of messages, by the role that each has."""
ROLES: Final = frozenset(("system", "developer", "user", "assistant", "tool"))
_OLD: Final = "function"


def is_message(tree: object) -> bool:
    """Tell whether a JSON value is one message of a chat, in any of the shapes."""
    if not is_mapping(tree):
        return False
    role, kind = tree.get("role"), tree.get("type")
    return role in ROLES or role == _OLD or kind in TYPES


def chat_messages(trees: Sequence[object], system: object = None) -> list[Message]:
    """Return the messages of a chat; raises ShapeError with the place of a bad one.

    ``system`` is the instruction where it stands beside the messages.
    """
    found: list[Message] = []
    if system is not None:
        found.append(_read({"role": "system", "content": system}, "system"))
    for at, tree in enumerate(trees):
        place = f"messages[{at}]"
        found += [_read(each, place) for each in _plain(tree, place)]
    return found


def _read(tree: Mapping[str, Any], place: str) -> Message:
    try:
        return message_of(tree, LeftOut())
    except ShapeError as error:
        inner = error.path.removeprefix("request.messages[]")
        raise ShapeError(f"{place}{inner}", error.problem) from None


def _plain(tree: object, place: str) -> Iterator[Mapping[str, Any]]:
    """Yield a message as chat completions have it; blocks may hold several."""
    if not is_mapping(tree):
        raise ShapeError(place, "is not an object with 'role' and 'content'")
    if "role" not in tree:
        tree = _of_langchain(tree, place)
    if tree["role"] not in ROLES and tree["role"] != _OLD:
        known = ", ".join(sorted(ROLES))
        raise ShapeError(f"{place}.role", f"is {tree['role']!r}, none of {known}")
    content = tree.get("content")
    blocks = content if is_list(content) else ()
    if any(is_mapping(b) and b.get("type") in _BLOCKS for b in blocks):
        yield from _of_blocks(tree, blocks)
    else:
        yield tree


def _of_langchain(tree: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    data = tree.get("data")
    inner = data if is_mapping(data) else tree
    role = TYPES.get(str(tree.get("type")))
    if role is None:
        raise ShapeError(place, 'has no \'role\', such as "user" or "assistant"')
    made: dict[str, Any] = {"role": role, "content": inner.get("content")}
    if inner.get("tool_call_id"):
        made["tool_call_id"] = inner["tool_call_id"]
    calls = inner.get("tool_calls")
    if role == "assistant" and is_list(calls) and calls:
        made["tool_calls"] = [_call(each) for each in calls]
        # The same calls may stand among the blocks once more.
        if is_list(made["content"]):
            made["content"] = [b for b in made["content"] if not _is_call(b)]
    return made


def _call(call: object) -> object:
    if not is_mapping(call) or "args" not in call:
        return call
    return chat_call(call.get("id"), call.get("name"), _json(call["args"]))


_BLOCKS: Final = frozenset(("tool_use", "tool_result"))


def _is_call(block: object) -> bool:
    return is_mapping(block) and block.get("type") == "tool_use"


def _of_blocks(
    tree: Mapping[str, Any], blocks: Sequence[Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield a message of Anthropic's: results first, as calls are answered at once."""
    rest = [b for b in blocks if not (is_mapping(b) and b.get("type") in _BLOCKS)]
    for each in blocks:
        if is_mapping(each) and each.get("type") == "tool_result":
            yield {
                "role": "tool",
                "tool_call_id": each.get("tool_use_id"),
                "content": each.get("content"),
            }
    calls = [
        chat_call(each.get("id"), each.get("name"), _json(each.get("input")))
        for each in blocks
        if _is_call(each)
    ]
    if calls:
        yield {"role": tree["role"], "content": rest, "tool_calls": calls}
    elif rest:
        yield {"role": tree["role"], "content": rest}


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


SCHEMAS: Final = ("parameters", "input_schema", "inputSchema")
"""Under which name each declares the arguments."""
INSTEAD: Final = (
    'write a list of {"name": "pay", "description": "...", "parameters": {"type":'
    ' "object", "properties": {...}}}, as OpenAI, Anthropic or MCP have them'
)


def tools_of(given: object, place: str) -> list[DeclaredTool]:
    """Return the tools of a list of declarations; raises ShapeError.

    Those that run at the vendor's (``web_search_20250305`` and the like) are none.
    """
    if not is_list(given):
        raise ShapeError(place, f"is not a list; {INSTEAD}")
    found = [_tool(each, f"{place}[{at}]") for at, each in enumerate(given)]
    return [each for each in found if each is not None]


def read_tools(path: Path) -> tuple[DeclaredTool, ...]:
    """Return the tools of a file; raises GivenFileError or OSError."""
    try:
        tree = read_json(path.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text ({error.reason})"
        raise GivenFileError(str(path), [BadPlace("", problem)]) from None
    except json.JSONDecodeError as error:
        bad = BadPlace(f"line {error.lineno}", f"is not JSON ({error.msg}); {INSTEAD}")
        raise GivenFileError(str(path), [bad]) from None
    try:
        if not shallow(tree):
            raise ShapeError("tools", f"are nested deeper than {DEPTH} levels")
        found = tools_of(_listed(tree), "tools")
        if not found:
            raise ShapeError("tools", f"hold none; {INSTEAD}")
        _once(found)
    except ShapeError as error:
        raise GivenFileError(str(path), [BadPlace("", str(error))]) from None
    return tuple(found)


def _listed(tree: object) -> object:
    """Return the list of declarations, also out of an answer of MCP's tools/list."""
    if is_mapping(tree) and is_mapping(tree.get("result")):
        tree = tree["result"]
    if not is_mapping(tree):
        return tree
    for key in ("tools", "functions"):
        if key in tree:
            return tree[key]
    return [tree]


def _tool(tree: object, place: str) -> DeclaredTool | None:
    if not is_mapping(tree):
        raise ShapeError(place, f"is not an object; {INSTEAD}")
    kind = str(tree.get("type") or "function")
    if kind not in {"function", "custom"}:
        return None
    inner = tree.get("function")
    tool = inner if is_mapping(inner) else tree
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise ShapeError(f"{place}.name", f"is {name!r}, no name; {INSTEAD}")
    return DeclaredTool(
        name, str(tool.get("description") or ""), _schema(tool, f"{place} ({name})")
    )


def _schema(tool: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    key = next((each for each in SCHEMAS if tool.get(each) is not None), None)
    if key is None:
        return {"type": "object", "properties": {}}
    schema = tool[key]
    if not is_mapping(schema):
        raise ShapeError(f"{place}.{key}", "is not a JSON schema, which is an object")
    if schema.get("type", "object") != "object":
        kind = schema["type"]
        raise ShapeError(
            f"{place}.{key}.type", f"is {kind!r}: a tool's arguments are an 'object'"
        )
    fields = schema.get("properties", {})
    if not is_mapping(fields) or not all(map(_is_schema, fields.values())):
        where = f"{place}.{key}.properties"
        raise ShapeError(where, "is not an object of JSON schemas")
    return schema


def _is_schema(value: object) -> bool:
    return is_mapping(value) or isinstance(value, bool)


def _once(tools: Sequence[DeclaredTool]) -> None:
    names = [each.name for each in tools]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ShapeError("tools", f"hold {twice!r} twice; give each a name of its own")
