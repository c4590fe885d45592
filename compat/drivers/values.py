"""Messages, chunks and tools as they stand in frames, and back; frames as bytes.

Half of a surrogate pair has no place in UTF-8, and languages whose texts are UTF-8
would replace it. So on the wire it is U+10FFFF, which stands for no character, and the
four hex digits of the half; U+10FFFF itself is written the same way. A driver carries
such a text as it is, and may join it with others: nothing in it depends on what stands
around.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from refengine.messages import (
    NOTHING,
    Json,
    Message,
    MessageChunk,
    ToolCall,
    ToolCallChunk,
)
from refengine.tools import Tool

Wire: TypeAlias = "Mapping[str, Any]"
"""What stands in a frame."""


def message_told(message: Message) -> dict[str, Any]:
    """Return a message as it stands in a frame; what is not set is left out."""
    told: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        told["tool_calls"] = [
            {"id": each.id, "name": each.name, "arguments": each.arguments}
            for each in message.tool_calls
        ]
    if message.tool_call_id is not None:
        told["tool_call_id"] = message.tool_call_id
    return told | _rest(message)


def chunk_told(chunk: MessageChunk) -> dict[str, Any]:
    """Return a chunk of an answer as it stands in a frame."""
    told: dict[str, Any] = {"content": chunk.content}
    if chunk.tool_calls:
        told["tool_calls"] = [_piece_told(each) for each in chunk.tool_calls]
    return told | _rest(chunk)


def _piece_told(piece: ToolCallChunk) -> dict[str, Any]:
    told: dict[str, Any] = {"id": piece.id, "name": piece.name}
    told["arguments"] = piece.arguments
    if piece.index is not None:
        told["index"] = piece.index
    return told


def _rest(value: Message | MessageChunk) -> dict[str, Any]:
    rest: dict[str, Any] = {}
    if value.name is not None:
        rest["name"] = value.name
    if value.id is not None:
        rest["id"] = value.id
    if value.extra:
        rest["extra"] = plain(value.extra)
    return rest


def plain(value: Json) -> object:
    """Return a frozen value as json takes it."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def message_read(told: Wire) -> Message:
    """Return the message that stands in a frame."""
    calls = told.get("tool_calls")
    role = told.get("role", "assistant")
    return Message(
        role,
        told.get("content", ""),
        tuple(map(_call_read, calls)) if calls else (),
        told.get("tool_call_id"),
        told.get("name"),
        told.get("id"),
        told.get("extra") or NOTHING,
    )


def _call_read(told: Wire) -> ToolCall:
    return ToolCall(told["id"], told["name"], told["arguments"])


def chunk_read(told: Wire) -> MessageChunk:
    """Return the chunk of an answer that stands in a frame."""
    calls: Iterable[Wire] = told.get("tool_calls") or ()
    return MessageChunk(
        told.get("content", ""),
        tuple(map(_piece_read, calls)),
        told.get("id"),
        told.get("name"),
        told.get("extra") or NOTHING,
    )


def _piece_read(told: Wire) -> ToolCallChunk:
    return ToolCallChunk(told.get("index"), told["id"], told["name"], told["arguments"])


def kind_of(tool: Tool) -> str:
    """Return in which ways a tool can be called."""
    whole = getattr(tool, "invoke", None) is not None
    pieces = getattr(tool, "stream", None) is not None
    if whole and pieces:
        return "both"
    return "streamable" if pieces else "invokable"


ESCAPE: Final = "\U0010ffff"
"""Begins what stands for half of a pair."""

_LONE: Final = re.compile(f"[\ud800-\udfff{ESCAPE}]")
_ESCAPED: Final = re.compile(
    rf"(?:{ESCAPE}|\\u[dD][bB][fF]{{2}}\\u[dD][fF]{{3}})([0-9a-f]{{4}})"
)
_ITSELF: Final = "ffff"

_read: Final = json.JSONDecoder().decode
_write: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encoded(frame: Mapping[str, object]) -> bytes:
    """Return a frame as a line."""
    text = _write(frame)
    try:
        line = text.encode()
    except UnicodeEncodeError:
        line = _LONE.sub(_escape, text).encode()
    else:
        if ESCAPE in text:
            line = _LONE.sub(_escape, text).encode()
    return line + b"\n"


def decoded(line: bytes) -> Any:  # noqa: ANN401  # any JSON
    """Return what a line says; raises ValueError, or RecursionError."""
    text = line.decode()
    if ESCAPE in text or ("\\u" in text and "\\udb" in text.lower()):
        text = _ESCAPED.sub(_unescape, text)
    return _read(text)


def _escape(match: re.Match[str]) -> str:
    half = match[0]
    return ESCAPE + (_ITSELF if half == ESCAPE else f"{ord(half):04x}")


def _unescape(match: re.Match[str]) -> str:
    digits = match[1]
    return ESCAPE if digits == _ITSELF else chr(int(digits, 16))
