"""JSON values: narrowed to objects and lists, and messages and chunks as objects.

    {"role": "assistant", "content": "…", "tool_calls": [{"id": …, "name": …,
     "arguments": "…", "index": 0}], "tool_call_id": …, "name": …, "id": …, "extra": {}}

Keys that would be empty are left out, ``role`` where it is ``assistant``. ``index``
says to which call a piece in a chunk belongs; a whole message has no use for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeGuard, cast

from refengine.messages import Json, Message, MessageChunk, ToolCall, ToolCallChunk
from refengine.testing.given_text import read_json


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether it is an object; JSON has text for keys."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether it is an array; a text is none."""
    return isinstance(value, (list, tuple))


ROLES: Final = frozenset(("system", "user", "assistant", "tool"))
_TEXTS: Final = frozenset(("role", "content", "tool_call_id", "name", "id"))
_KEYS: Final = _TEXTS | {"tool_calls", "extra"}
_CALL_TEXTS: Final = frozenset(("id", "name", "arguments"))


def read_message(text: str) -> Message:
    """Read a message; raises ValueError."""
    given = _read(text)
    calls = tuple(
        ToolCall(each.get("id", ""), each.get("name", ""), each.get("arguments", ""))
        for each in given.get("tool_calls", ())
    )
    role = cast("Literal['system', 'user', 'assistant']", given["role"])
    named = {key: given.get(key) for key in ("tool_call_id", "name", "id")}
    extra = given.get("extra", {})
    return Message(role, given.get("content", ""), calls, **named, extra=extra)


def read_chunk(text: str) -> MessageChunk:
    """Read a chunk of an assistant's message; raises ValueError."""
    given = _read(text)
    if given["role"] != "assistant" or "tool_call_id" in given:
        raise ValueError("a chunk is of an assistant's message")
    calls = tuple(ToolCallChunk(**each) for each in given.get("tool_calls", ()))
    content, extra = given.get("content", ""), given.get("extra", {})
    return MessageChunk(content, calls, given.get("id"), given.get("name"), extra=extra)


def is_message(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether it is a message, and not some state that has a role as well."""
    if not is_mapping(value) or value.keys() - _KEYS:
        return False
    role, calls = value.get("role"), value.get("tool_calls", ())
    is_role = isinstance(role, str) and role in ROLES
    return is_role and is_list(calls) and all(map(is_mapping, calls))


def write(message: Message | MessageChunk) -> str:
    """Write a message or a chunk; the readers give an equal one back.

    ``<`` is escaped, so that no placeholder of a scenario stands in it by chance.
    """
    role = message.role if isinstance(message, Message) else "assistant"
    of = message.tool_call_id if isinstance(message, Message) else None
    parts: dict[str, Json] = {
        "role": "" if role == "assistant" else role,
        "content": message.content,
        "tool_calls": [_call(each) for each in message.tool_calls],
        "extra": thawed(message.extra),
    }
    kept = {key: each for key, each in parts.items() if each}
    named = {"tool_call_id": of, "name": message.name, "id": message.id}
    kept |= {key: each for key, each in named.items() if each is not None}
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def thawed(value: Json) -> Json:
    """Return frozen JSON as the plain dicts and lists that ``json`` writes."""
    if isinstance(value, Mapping):
        return {key: thawed(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [thawed(each) for each in value]
    return value


def _call(call: ToolCall | ToolCallChunk) -> Json:
    found: dict[str, Json] = {}
    if isinstance(call, ToolCallChunk) and call.index is not None:
        found["index"] = call.index
    texts = (("id", call.id), ("name", call.name), ("arguments", call.arguments))
    return found | {key: text for key, text in texts if text}


def _read(text: str) -> Mapping[str, Any]:
    given = read_json(text)
    if not is_mapping(given) or given.keys() - _KEYS:
        raise ValueError(f"the keys of a message are {sorted(_KEYS)}")
    if not all(isinstance(given.get(key, ""), str) for key in _TEXTS):
        raise ValueError(f"{sorted(_TEXTS)} are texts")
    if given.get("role", "assistant") not in ROLES:
        raise ValueError(f"the roles are {sorted(ROLES)}")
    calls = given.get("tool_calls", [])
    if not is_list(calls) or not all(map(_is_call, calls)):
        raise ValueError("a call has an id, a name, arguments, and perhaps an index")
    if not is_mapping(given.get("extra", {})):
        raise ValueError("'extra' is an object")
    return {"role": "assistant", **given}


def _is_call(call: object) -> bool:
    if not is_mapping(call) or call.keys() - {*_CALL_TEXTS, "index"}:
        return False
    texts = all(isinstance(call.get(key, ""), str) for key in _CALL_TEXTS)
    return texts and type(call.get("index", 0)) is int
