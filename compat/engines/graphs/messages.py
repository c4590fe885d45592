"""Messages as LangChain has them, and back.

The framework keeps arguments parsed and gives every message an id of its own. What it
has no place for travels in ``additional_kwargs``, which it hands on as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call, tool_call_chunk

from compat.engines.graphs.frame import Frame
from refengine.messages import (
    NOTHING,
    Message,
    MessageChunk,
    Role,
    ToolCall,
    ToolCallChunk,
)

_OURS: Final = "refengine"
_ROLES: Final[Mapping[type[BaseMessage], Role]] = MappingProxyType(
    {
        SystemMessage: "system",
        HumanMessage: "user",
        AIMessage: "assistant",
        AIMessageChunk: "assistant",
        ToolMessage: "tool",
    }
)


def theirs(frame: Frame, messages: Iterable[Message]) -> list[AnyMessage]:
    """Return our messages as the framework's."""
    return [their_message(frame, message) for message in messages]


def ours(frame: Frame, messages: Iterable[BaseMessage]) -> tuple[Message, ...]:
    """Return the framework's messages as ours."""
    return tuple(our_message(frame, message) for message in messages)


def their_message(frame: Frame, message: Message) -> AnyMessage:
    """Return one of our messages; refuses arguments that are no JSON object."""
    kept = {"id": message.id, "extra": dict(message.extra)}
    told = {key: value for key, value in kept.items() if value}
    common: dict[str, Any] = {
        "content": message.content,
        "name": message.name,
        "additional_kwargs": {_OURS: told} if told else {},
    }
    if message.role == "assistant":
        calls = [
            tool_call(name=c.name, args=their_arguments(frame, c), id=c.id)
            for c in message.tool_calls
        ]
        return AIMessage(**common, tool_calls=calls)
    if message.role == "tool":
        return ToolMessage(**common, tool_call_id=message.tool_call_id or "")
    kind = SystemMessage if message.role == "system" else HumanMessage
    return kind(**common)


def our_message(frame: Frame, message: BaseMessage) -> Message:
    """Return one of the framework's messages."""
    told = message.additional_kwargs.get(_OURS, {})
    calls: tuple[ToolCall, ...] = ()
    call_id = None
    if isinstance(message, AIMessage):
        calls = tuple(
            our_call(frame, cast("Mapping[str, Any]", c)) for c in message.tool_calls
        )
    if isinstance(message, ToolMessage):
        call_id = message.tool_call_id
    return Message(
        _ROLES[type(message)],
        str(message.text),
        calls,
        call_id,
        message.name,
        told.get("id"),
        told.get("extra", NOTHING),
    )


def their_arguments(frame: Frame, call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments parsed; their text is found again by ``our_call``."""
    try:
        parsed: object = json.loads(call.arguments)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        frame.refuse("arguments_text", f"call {call.id!r} of tool {call.name!r}")
    args = cast("dict[str, Any]", parsed)
    frame.texts[call.id, call.name, _canonical(args)] = call.arguments
    return args


def our_call(frame: Frame, call: Mapping[str, Any]) -> ToolCall:
    """Return a call with its arguments as they were written, if that is known."""
    call_id, name, args = str(call["id"] or ""), str(call["name"]), call["args"]
    text = frame.texts.get((call_id, name, _canonical(args)))
    return ToolCall(call_id, name, json.dumps(args) if text is None else text)


def _canonical(args: object) -> str:
    return json.dumps(args, sort_keys=True)


def their_chunk(frame: Frame, chunk: MessageChunk, first_index: int) -> AIMessageChunk:
    """Return a piece of an answer; pieces without an index are given one from there."""
    pieces: list[Any] = []
    for at, piece in enumerate(chunk.tool_calls):
        if piece.index is None:  # a whole call
            whole = ToolCall(piece.id, piece.name, piece.arguments)
            their_arguments(frame, whole)
        index = first_index + at if piece.index is None else piece.index
        pieces.append(
            tool_call_chunk(
                name=piece.name or None,
                args=piece.arguments,
                id=piece.id or None,
                index=index,
            )
        )
    kept = {"id": chunk.id, "extra": dict(chunk.extra)}
    told = {key: value for key, value in kept.items() if value}
    return AIMessageChunk(
        content=chunk.content,
        name=chunk.name,
        additional_kwargs={_OURS: told} if told else {},
        tool_call_chunks=pieces,
    )


def our_chunk(chunk: AIMessageChunk) -> MessageChunk:
    """Return a piece of an answer as the consumer of a run gets it."""
    return MessageChunk(str(chunk.text), tuple(_pieces(chunk.tool_call_chunks)))


def _pieces(chunks: Sequence[Mapping[str, Any]]) -> Iterable[ToolCallChunk]:
    for each in chunks:
        yield ToolCallChunk(
            each.get("index"),
            each.get("id") or "",
            each.get("name") or "",
            each.get("args") or "",
        )
