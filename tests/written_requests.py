"""Canonical requests, written as each interface asks them.

What a request of one interface says is what is written for it again, in one form of
the several that it has: a text is a text and no list of one part, a result stands in
the message of its own interface. So a request can also be asked of another vendor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from compat.wire.interfaces import anthropic, chat, gemini, responses
from compat.wire.interfaces.request import (
    PARTS,
    THOUGHTS,
    VendorRequest,
    VendorTool,
    objects,
    parts_of,
    with_parts,
)
from refengine.messages import Json, Message, ToolCall
from refengine.testing.json_values import is_list, is_mapping, thawed


def written_request(asked: VendorRequest) -> dict[str, Any]:
    """Return the body that asks it through its own interface."""
    own = dict(asked.own)
    signed = _signed(asked.messages, own.pop(gemini.SIGNATURES, {}))
    messages = tuple(with_thoughts(signed, own.pop(THOUGHTS, ())))
    return _WRITERS[asked.interface](replace(asked, messages=messages, own=own))


def with_thoughts(messages: Sequence[Message], thoughts: object) -> Iterator[Message]:
    """Yield messages with the thoughts that were taken out of them."""
    given = objects(thoughts)
    for number in range(len(messages) + 1):
        mine = [each for each in given if each["message"] == number]
        here = messages[number] if number < len(messages) else None
        if mine and (here is None or here.role != "assistant"):
            yield with_parts(Message("assistant", ""), _put([], mine))
        elif mine and here is not None:
            yield with_parts(here, _put(parts_of(here), mine))
        if here is not None and not (mine and here.role == "assistant"):
            yield here


def _put(parts: Sequence[Json], thoughts: Sequence[Mapping[str, Any]]) -> list[Json]:
    found = list(parts)
    for each in thoughts:
        found.insert(each["at"], each["part"])
    return found


def _signed(messages: Sequence[Message], signatures: object) -> list[Message]:
    """Return messages with the signatures that were taken from them."""
    given: Mapping[str, Any] = signatures if is_mapping(signatures) else {}
    return [
        replace(each, extra={**each.extra, gemini.SIGNATURES: given[str(number)]})
        if str(number) in given
        else each
        for number, each in enumerate(messages)
    ]


def _settings(asked: VendorRequest, names: Mapping[str, str]) -> dict[str, Any]:
    """Return settings under the names of an interface, the first one of several."""
    known: dict[str, str] = {}
    for theirs, ours in names.items():
        known.setdefault(ours, theirs)
    return {known[ours]: each for ours, each in asked.settings.items() if ours in known}


def _content(message: Message, text: str) -> Any:  # JSON values
    """Return a text, or the parts of a message in their order."""
    parts = thawed(message.extra.get(PARTS))
    if not is_list(parts):
        return message.content
    return [
        {"type": text, "text": each} if isinstance(each, str) else each
        for each in parts
    ]


def _blocks(message: Message, text: str) -> list[Any]:
    found = _content(message, text)
    said = [{"type": text, "text": message.content}] if message.content else []
    if isinstance(found, str):
        return said
    told = any(each.get("type") == text for each in found)
    return [*found, *([] if told else said)]


def _object(call: ToolCall) -> Any:  # JSON values
    return json.loads(call.arguments or "{}")


def _tool(tool: VendorTool, schema: str) -> dict[str, Any]:
    made: dict[str, Any] = {**tool.more, "name": tool.name}
    if tool.description:
        made["description"] = tool.description
    if tool.parameters:
        made[schema] = dict(tool.parameters)
    return made | ({"strict": True} if tool.strict else {})


def _chat(asked: VendorRequest) -> dict[str, Any]:
    body = {**_settings(asked, chat.SETTINGS), **asked.own}
    body["messages"] = [_chat_message(each) for each in asked.messages]
    if asked.tools:
        made = [_tool(each, "parameters") for each in asked.tools]
        body["tools"] = [{"type": "function", "function": each} for each in made]
    choice = asked.settings.get("tool_choice")
    if is_mapping(choice) and set(choice) == {"name"}:
        choice = {"type": "function", "function": dict(choice)}
    body["tool_choice"] = choice
    format_ = asked.settings.get("response_format")
    if is_mapping(format_) and "schema" in format_:
        inner = {k: v for k, v in format_.items() if k != "type"}
        format_ = {"type": format_["type"], "json_schema": inner}
    body["response_format"] = format_
    return body


def _chat_message(message: Message) -> dict[str, Any]:
    extra = {k: thawed(v) for k, v in message.extra.items() if k != PARTS}
    made: dict[str, Any] = {"role": message.role, **extra}
    made["content"] = _content(message, "text")
    if message.tool_calls:
        made["tool_calls"] = [
            {
                "id": each.id,
                "type": "function",
                "function": {"name": each.name, "arguments": each.arguments},
            }
            for each in message.tool_calls
        ]
    if message.tool_call_id is not None:
        made["tool_call_id"] = message.tool_call_id
    return made | ({"name": message.name} if message.name is not None else {})


def _responses(asked: VendorRequest) -> dict[str, Any]:
    body = {**_settings(asked, responses.SETTINGS), **asked.own}
    messages = list(asked.messages)
    if messages and messages[0].role == "system":
        body["instructions"] = messages.pop(0).content
    body["input"] = [item for each in messages for item in _items(each)]
    if asked.tools:
        body["tools"] = [_responses_tool(each) for each in asked.tools]
    choice = asked.settings.get("tool_choice")
    if is_mapping(choice) and set(choice) == {"name"}:
        choice = {"type": "function", **choice}
    body["tool_choice"] = choice
    body["text"] = {
        "format": asked.settings.get("response_format"),
        "verbosity": asked.settings.get("verbosity"),
    }
    effort = asked.settings.get("reasoning_effort")
    more = asked.own.get("reasoning")
    body["reasoning"] = {**(more if is_mapping(more) else {}), "effort": effort}
    return body


def _responses_tool(tool: VendorTool) -> dict[str, Any]:
    made = _tool(tool, "parameters")
    if "type" not in tool.more:
        return {**made, "type": "function", "strict": tool.strict}
    if tool.name == tool.more["type"]:  # its type is all the name that it has
        del made["name"]
    return made


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        kind = {"type": "function_call_output", "call_id": message.tool_call_id}
        yield {**kind, "output": _content(message, "input_text")}
        return
    refusal = message.extra.get("refusal")
    if refusal:
        part = {"type": "refusal", "refusal": refusal}
        yield {"type": "message", "role": message.role, "content": [part]}
    said: list[Any] = []
    for each in _blocks(message, "text"):
        if each.get("type") in {"text", "input_image", "input_file"}:
            said.append(each)
        else:
            yield each
    if said:
        yield {"type": "message", "role": message.role, "content": said}
    for call in message.tool_calls:
        named = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        yield {"type": "function_call", **named}


def _anthropic(asked: VendorRequest) -> dict[str, Any]:
    body = {**_settings(asked, anthropic.SETTINGS), **asked.own}
    failed = body.pop("is_error", ())
    marks = body.pop("cache_marks", ())
    messages = list(asked.messages)
    if messages and messages[0].role == "system":
        body["system"] = _content(messages.pop(0), "text")
    body["messages"] = list(_turns(messages, lambda m: _anthropic_blocks(m, failed)))
    if asked.tools:
        body["tools"] = [_tool(each, "input_schema") for each in asked.tools]
    choice = asked.settings.get("tool_choice")
    words = {ours: theirs for theirs, ours in anthropic.CHOICES.items()}
    made: dict[str, Any] = {}
    if is_mapping(choice):
        made = {"type": "tool", **choice}
    elif choice is not None:
        made = {"type": words[str(choice)]}
    if asked.settings.get("parallel_tool_calls") is False:
        made = {"type": "auto", **made, "disable_parallel_tool_use": True}
    body["tool_choice"] = made or None
    for mark in marks if is_list(marks) else ():
        _mark(body, str(mark))
    return body


_STEP: Final = re.compile(r"(\w+)\[(\d+)\]")


def _mark(body: dict[str, Any], place: str) -> None:
    """Put the mark of a cache at a place, where a text has to be a block."""
    owner: Any = body
    for key, at in _STEP.findall(place):
        if isinstance(owner.get(key), str):
            owner[key] = [{"type": "text", "text": owner[key]}]
        owner = owner[key][int(at)]
    owner["cache_control"] = {"type": "ephemeral"}


def _anthropic_blocks(message: Message, failed: object) -> list[dict[str, Any]]:
    if message.role == "tool":
        of = message.tool_call_id
        block = {"type": "tool_result", "tool_use_id": of}
        error = {"is_error": True} if is_list(failed) and of in failed else {}
        return [{**block, "content": _content(message, "text"), **error}]
    calls = [
        {"type": "tool_use", "id": each.id, "name": each.name, "input": _object(each)}
        for each in message.tool_calls
    ]
    return [*_blocks(message, "text"), *calls]


def _turns(
    messages: Sequence[Message], blocks: Callable[[Message], list[dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """Yield what each side said in its turn, results among what a user says."""
    for mine, group in groupby(messages, lambda each: each.role == "assistant"):
        said = list(group)
        turns = [[each] for each in said] if mine else [said]
        for turn in turns:
            content = [block for each in turn for block in blocks(each)]
            yield {"role": "assistant" if mine else "user", "content": content}


def _gemini(asked: VendorRequest) -> dict[str, Any]:
    body: dict[str, Any] = dict(asked.own)
    more = body.pop("generationConfig", {})
    config = {**more, **_settings(asked, gemini.SETTINGS)}
    format_ = asked.settings.get("response_format")
    if is_mapping(format_):
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = format_.get("schema")
    body["generationConfig"] = config
    messages = list(asked.messages)
    if messages and messages[0].role == "system":
        body["systemInstruction"] = {"parts": [{"text": messages.pop(0).content}]}
    names = {call.id: call.name for each in messages for call in each.tool_calls}
    body["contents"] = [
        {
            "role": "model" if each["role"] == "assistant" else "user",
            "parts": each["content"],
        }
        for each in _turns(messages, lambda message: _gemini_parts(message, names))
    ]
    body["tools"] = list(_gemini_tools(asked.tools))
    choice = asked.settings.get("tool_choice")
    calling = body.pop("functionCallingConfig", gemini.calling_of(choice))
    if calling.get("mode") is not None:
        body["toolConfig"] = {"functionCallingConfig": calling}
    return body


def _gemini_tools(tools: Sequence[VendorTool]) -> Iterator[dict[str, Any]]:
    """Yield groups: functions that stand together, and each tool of the vendor's."""
    for own, group in groupby(tools, lambda each: bool(each.parameters)):
        if own:
            made = [_tool(each, "parameters") for each in group]
            yield {"functionDeclarations": made}
        else:
            yield from ({each.name: dict(each.more)} for each in group)


def _gemini_parts(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    if message.role == "tool":
        of = message.tool_call_id or ""
        try:
            given: object = json.loads(message.content)
        except ValueError:
            given = None
        response = given if is_mapping(given) else {"result": message.content}
        told = {"id": of, "name": names.get(of, ""), "response": response}
        return [{"functionResponse": told}]
    parts = [
        {key: v for key, v in each.items() if key != "type"}
        for each in _blocks(message, "text")
    ]
    calls: list[dict[str, Any]] = [
        {"functionCall": {"id": each.id, "name": each.name, "args": _object(each)}}
        for each in message.tool_calls
    ]
    kept = message.extra.get(gemini.SIGNATURES)
    signatures: Sequence[Any] = kept if isinstance(kept, (list, tuple)) else ()
    # Which part a signature stands on is not read: mostly it is a call's.
    for part, signature in zip([*calls, *parts], signatures, strict=False):
        part["thoughtSignature"] = signature
    return [*parts, *calls]


_WRITERS: Final[Mapping[str, Callable[[VendorRequest], dict[str, Any]]]] = {
    chat.CHAT: _chat,
    responses.RESPONSES: _responses,
    anthropic.ANTHROPIC: _anthropic,
    gemini.GEMINI: _gemini,
}
