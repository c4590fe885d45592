"""Messages of LangChain as observations have them, and our own as LangChain has them.

What is said, which a vendor is sent, and what a message carries beside it are told
apart: a status or an artifact of a tool's result stays in the state, and few requests
carry it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
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
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk

from refengine.messages import Json, Message, MessageChunk, ToolCall
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import written

ROLES: Final[Mapping[str, str]] = MappingProxyType(
    {"ai": "assistant", "human": "user", "AIMessageChunk": "assistant"}
)
"""Kinds of messages that have another name than the role they stand for."""

VOLATILE_EXTRAS: Final = frozenset(("lc_source",))
"""Marks that a framework's own parts leave on messages, and no vendor is sent."""


def parsed(call: ToolCall) -> dict[str, Any] | None:
    """Return the arguments if they are an object, as a vendor's client reads them."""
    try:
        found: object = json.loads(call.arguments or "{}")
    except ValueError:
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def as_langchain(
    message: Message,
    args_of: Callable[[ToolCall], dict[str, Any] | None] = parsed,
    **more: Any,  # noqa: ANN401  # any field of a message
) -> AnyMessage:
    """Return our message as LangChain has it, with more fields; it has no id yet.

    ``args_of`` reads the arguments of a call. It may be an invalid one: None.
    """
    given: dict[str, Any] = {"content": message.content, **more}
    if message.role == "tool":
        return ToolMessage(**given, tool_call_id=message.tool_call_id or "")
    if message.role != "assistant":
        return (SystemMessage if message.role == "system" else HumanMessage)(**given)
    calls = [(call, args_of(call)) for call in message.tool_calls]
    return AIMessage(
        **given,
        tool_calls=[
            tool_call(name=call.name, args=args, id=call.id)
            for call, args in calls
            if args is not None
        ],
        invalid_tool_calls=[
            invalid_tool_call(name=call.name, args=call.arguments, id=call.id)
            for call, args in calls
            if args is None
        ],
    )


def as_chunk(
    chunk: MessageChunk,
    first_index: int,
    **more: Any,  # noqa: ANN401  # any field of a message
) -> AIMessageChunk:
    """Return a piece of an answer as LangChain has it, with more fields.

    Calls without an index are whole, and must not be joined with others: they are
    given one from ``first_index`` on.
    """
    calls = [
        tool_call_chunk(
            name=call.name or None,
            args=call.arguments,
            id=call.id or None,
            index=first_index + at if call.index is None else call.index,
        )
        for at, call in enumerate(chunk.tool_calls)
    ]
    return AIMessageChunk(content=chunk.content, tool_call_chunks=calls, **more)


def said(messages: Sequence[BaseMessage]) -> list[Json]:
    """Return messages as a request carries them: what is said, by whom, to what."""
    return [_said(message) for message in messages]


def _said(message: BaseMessage) -> dict[str, Json]:
    role = role_of(message)
    found: dict[str, Json] = {"role": role, "content": content_of(message)}
    if isinstance(message, AIMessage):
        found.update(calls_of(message))
    if isinstance(message, ToolMessage):
        found["tool_call_id"] = message.tool_call_id
    elif message.name:
        found["name"] = message.name
    return found


def marks(messages: Sequence[BaseMessage]) -> list[Json]:
    """Return what messages carry beside what is said, as a state keeps them.

    Without ids, which are drawn anew in every run, and what a vendor told about a
    response, which is the world's.
    """
    return [_marks(message) for message in messages]


def _marks(message: BaseMessage) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if isinstance(message, ToolMessage):
        found["status"] = message.status
        if message.artifact is not None:
            found["artifact"] = snapshot(message.artifact)
    extras = {
        key: value
        for key, value in message.additional_kwargs.items()
        if key not in VOLATILE_EXTRAS
    }
    if extras:
        found["extra"] = snapshot(extras)
    return found


def role_of(message: BaseMessage) -> str:
    """Return the role that a message stands for."""
    return ROLES.get(message.type, message.type)


def content_of(message: BaseMessage) -> Json:
    """Return a message's content; one block of text is that text.

    Other blocks stay as they are, but for ids that a framework gives them.
    """
    content: object = message.content
    if not is_list(content):
        return snapshot(content)
    blocks = [_block(each) for each in content]
    if len(blocks) == 1 and isinstance(blocks[0], str):
        return blocks[0]
    return [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]


def _block(block: object) -> Json:
    if is_mapping(block) and block.get("type") == "text" and set(block) <= _TEXT_KEYS:
        return snapshot(block["text"])
    return snapshot(block)


_TEXT_KEYS: Final = frozenset(("type", "text", "id", "index"))


def text_of(message: BaseMessage) -> str:
    """Return the text of a message, that of all its blocks in one piece."""
    content = content_of(message)
    if isinstance(content, str):
        return content
    blocks = cast("Sequence[Mapping[str, Json]]", content)
    return "".join(str(each.get("text", "")) for each in blocks)


def calls_of(message: AIMessage) -> dict[str, Json]:
    """Return the tool calls of a response, if there are any."""
    found: dict[str, Json] = {}
    if message.tool_calls:
        found["tool_calls"] = [
            {
                "id": call["id"] or "",
                "name": call["name"],
                "arguments": written(call["args"]),
            }
            for call in message.tool_calls
        ]
    if message.invalid_tool_calls:
        found["invalid_tool_calls"] = [
            {key: snapshot(each.get(key)) for key in ("id", "name", "args")}
            for each in message.invalid_tool_calls
        ]
    return found
