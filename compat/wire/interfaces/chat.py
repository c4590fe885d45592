"""OpenAI's chat completions: canonical requests, and messages as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from compat.wire.interfaces.request import (
    ROLES,
    SAID,
    USUAL,
    Tree,
    VendorRequest,
    VendorTool,
    called,
    listed,
    rest_of,
    settings_of,
    settled,
    spoken,
)
from refengine.messages import Json, Message, ToolCall
from refengine.testing.json_values import is_mapping

CHAT: Final = "OpenAI chat completions"
NOTHING: Final[Mapping[str, Json]] = MappingProxyType({})
TEXTS: Final = {"text": "text", "input_text": "text", "output_text": "text"}
SETTINGS: Final[Mapping[str, str]] = {
    "model": "model",
    "stream": "stream",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "reasoning_effort": "reasoning_effort",
    "verbosity": "verbosity",
    "stop": "stop",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "metadata": "metadata",
    "user": "user",
    "service_tier": "service_tier",
    "prompt_cache_key": "prompt_cache_key",
    "safety_identifier": "safety_identifier",
}
"""Parameters that are settings, by what they are called in all interfaces."""
_TAKEN: Final = frozenset(
    (*SETTINGS, "messages", "tools", "tool_choice", "response_format")
)
_SAID: Final = ("role", "content", "tool_calls", "tool_call_id", "name")


def chat_request(body: Tree) -> VendorRequest:
    """Read the body of a request for a chat completion."""
    settings = settings_of(body, SETTINGS)
    if isinstance(settings.get("stop"), str):
        settings["stop"] = [settings["stop"]]
    settings["tool_choice"] = _choice(body.get("tool_choice"))
    settings["response_format"] = _format(body.get("response_format"))
    return VendorRequest(
        CHAT,
        tuple(map(_message, listed(body, "messages"))),
        tuple(map(_tool, listed(body, "tools"))),
        settled(settings, USUAL),
        rest_of(body, _TAKEN),
    )


def _message(tree: Tree) -> Message:
    role = ROLES.get(str(tree.get("role")), "user")
    extra = rest_of(tree, _SAID)
    for key in ("refusal", "annotations", "audio"):  # sent back empty by some clients
        if not extra.get(key):
            extra.pop(key, None)
    calls = [_call(each) for each in listed(tree, "tool_calls")]
    of = str(tree.get("tool_call_id") or "") if role == "tool" else None
    name = tree.get("name")
    return spoken(
        role,
        tree.get("content"),
        TEXTS,
        tool_calls=tuple(calls),
        tool_call_id=of,
        name=None if name is None else str(name),
        extra=extra,
    )


def _call(call: Tree) -> ToolCall:
    function = call.get("function")
    inner: Tree = function if is_mapping(function) else call.get("custom", {})
    given = inner.get("arguments", inner.get("input"))
    return called(call.get("id"), inner.get("name"), given)


def _tool(tool: Tree) -> VendorTool:
    function = tool.get("function")
    inner = function if is_mapping(function) else tool
    parameters = inner.get("parameters")
    return VendorTool(
        str(inner.get("name", tool.get("type", ""))),
        str(inner.get("description") or ""),
        parameters if is_mapping(parameters) else {},
        inner.get("strict") is True,
        rest_of(inner, SAID),
    )


def _choice(choice: object) -> Json:
    if not is_mapping(choice):
        return choice if isinstance(choice, str) else None
    function = choice.get("function")
    return {"name": function.get("name")} if is_mapping(function) else dict(choice)


def _format(given: object) -> Json:
    if not is_mapping(given):
        return None
    schema = given.get("json_schema")
    return {"type": given.get("type"), **schema} if is_mapping(schema) else dict(given)


def chat_call(id_: object, name: object, arguments: object) -> dict[str, Any]:
    """Return a call as it is written."""
    function = {"name": name, "arguments": arguments}
    return {"id": id_, "type": "function", "function": function}


def chat_message(
    message: Message, extra: Mapping[str, Json] = NOTHING
) -> dict[str, Any]:
    """Return a message as a client sends it, with what else an answer had."""
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    sent |= extra
    if message.tool_calls:
        sent["content"] = message.content or None
        sent["tool_calls"] = [
            chat_call(c.id, c.name, c.arguments) for c in message.tool_calls
        ]
    return sent
