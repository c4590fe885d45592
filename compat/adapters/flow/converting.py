"""What the Flow dialect says as the engine's messages, and back.

A content of several texts, of bytes, of thoughts or of text behind calls has no place
in a message, and is refused. The results of one message's calls are one content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from typing import Any, Final, cast

from compat.adapters.errors import NotCarriedError
from compat.dialects.flow import (
    Content,
    FunctionCall,
    FunctionDeclaration,
    FunctionResponse,
    GenerateConfig,
    LlmResponse,
    Part,
)
from compat.dialects.flow.contents import OWN_ID
from compat.dialects.flow.values import as_json, from_json, plain
from refengine.messages import NOTHING, Json, Message, ToolCall
from refengine.tools import ToolInfo

ENGINE: Final = "the engine's messages"
RESPONSE: Final = "flow_response"
"""Under this key of a message's extra stands what a response has beside its content."""
_ANSWERED: Final = ("content", "usage", "finish_reason", "grounding", "metadata")
_SETTINGS: Final = tuple(
    each.name
    for each in fields(GenerateConfig)
    if each.name not in {"system_instruction", "tools"}
)


def refused(owner: str, part: str, remedy: str) -> NotCarriedError:
    """Return the refusal of a part that the engine's messages have no place for."""
    return NotCarriedError(owner, part, ENGINE, remedy)


def text_of(value: object) -> str:
    """Return JSON as the text that messages have it in."""
    return json.dumps(plain(cast("Json", value)), ensure_ascii=False)


def value_of(text: str) -> Json:
    """Return the JSON in a text, or the text where there is none."""
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found


def message_groups(
    messages: Sequence[Message],
) -> Iterator[tuple[Content, tuple[Message, ...]]]:
    """Yield a content for each message, or for the results that stand together."""
    for is_result, found in groupby(messages, lambda each: each.role == "tool"):
        if is_result:
            group = tuple(found)
            yield (
                Content("user", tuple(_result_part(x, messages) for x in group)),
                group,
            )
            continue
        for each in found:
            yield _said(each), (each,)


def _said(message: Message) -> Content:
    if message.role not in {"user", "assistant"}:
        part = f"a message of the role {message.role!r} behind the first one"
        raise refused("the history", part, "put instructions into instruction=")
    texts = (Part(text=message.content),) if message.content else ()
    calls = (Part(call=_shown(call_of(each))) for each in message.tool_calls)
    role = "model" if message.role == "assistant" else "user"
    return Content(role, (*texts, *calls))


def _result_part(message: Message, messages: Sequence[Message]) -> Part:
    own = message.tool_call_id or ""
    calls = (call for each in messages for call in each.tool_calls)
    name = message.name or next((x.name for x in calls if x.id == own), "")
    value = value_of(message.content)
    told = value if value is None or isinstance(value, Mapping) else {"result": value}
    return Part(response=FunctionResponse(name, told, _shown_id(own)))


def _shown(call: FunctionCall) -> FunctionCall:
    return replace(call, id=_shown_id(call.id))


def _shown_id(given: str) -> str:
    """Return the id as a model is shown it: none of the flow's own."""
    return "" if given.startswith(OWN_ID) else given


def call_of(call: ToolCall) -> FunctionCall:
    """Return the call as the dialect has it; raises NotCarriedError."""
    args = value_of(call.arguments or "{}")
    if not isinstance(args, Mapping):
        part = f"arguments {call.arguments!r}"
        raise refused(f"the call of {call.name}", part, "let models give an object")
    return FunctionCall(call.name, args, call.id)


def messages_of(content: Content, owner: str) -> tuple[Message, ...]:
    """Return the messages that say what a content says; raises NotCarriedError."""
    kinds = [_kind(each, owner) for each in content.parts]
    if kinds and set(kinds) == {"response"} and content.role == "user":
        return tuple(map(_result_message, content.responses))
    if content.role == "user" and kinds == ["text"]:
        return (Message("user", content.text),)
    if content.role == "model" and kinds and not {"text", "response"} & {*kinds[1:]}:
        calls = tuple(map(_tool_call, content.calls))
        return (Message("assistant", content.text, calls),)
    what = f"a content of role {content.role!r} with {', '.join(kinds) or 'no parts'}"
    remedy = "let it have one text, then calls, or results alone"
    raise refused(owner, what, remedy)


def _kind(part: Part, owner: str) -> str:
    for kind in ("text", "call", "response"):
        value = getattr(part, kind)
        if value and part == Part(**{kind: value}):
            return kind
    raise refused(owner, f"{part!r}", "let it hold a text, a call or a response alone")


def _tool_call(call: FunctionCall) -> ToolCall:
    return ToolCall(call.id, call.name, text_of(call.args))


def _result_message(response: FunctionResponse) -> Message:
    text = text_of(response.response)
    return Message("tool", text, tool_call_id=response.id, name=response.name)


def answer_of(response: LlmResponse, owner: str) -> Message:
    """Return the assistant's message that a response is; raises NotCarriedError."""
    bare = LlmResponse(**{each: getattr(response, each) for each in _ANSWERED})
    if replace(bare, turn_complete=response.turn_complete) != response:
        set_here = as_json(replace(response, content=None)).keys() - {*_ANSWERED}
        remedy = "let it be whole, and an error an exception"
        raise refused(owner, f"{', '.join(sorted(set_here))} of a response", remedy)
    if response.content is None or response.content.role != "model":
        remedy = "give content of the role 'model'"
        raise refused(owner, "a response without a model's content", remedy)
    [message] = messages_of(response.content, owner)
    beside = as_json(replace(response, content=None))
    return replace(message, extra={RESPONSE: beside}) if beside else message


def response_of_message(message: Message) -> LlmResponse:
    """Return the response that an assistant's message was, or is."""
    raw = message.extra.get(RESPONSE, NOTHING)
    beside = from_json(LlmResponse, raw)
    calls = (Part(call=call_of(each)) for each in message.tool_calls)
    texts = (Part(text=message.content),) if message.content else ()
    return replace(beside, content=Content("model", (*texts, *calls)))


def info_of(declared: FunctionDeclaration) -> ToolInfo:
    """Return what the engine's model is told about a tool."""
    return ToolInfo(declared.name, declared.description, declared.parameters or NOTHING)


def declaration_of(
    info: ToolInfo, known: Iterable[FunctionDeclaration]
) -> FunctionDeclaration:
    """Return the declaration of a tool: the one that it was made of, if it is."""
    for each in known:
        if info_of(each) == info:
            return each
    return FunctionDeclaration(
        name=info.name,
        description=info.description,
        parameters=info.parameters or None,
    )


def settings_of(config: GenerateConfig) -> dict[str, Any]:
    """Return the settings that a configuration has, as options of a model call."""
    unset = GenerateConfig()
    return {
        each: getattr(config, each)
        for each in _SETTINGS
        if getattr(config, each) != getattr(unset, each)
    }


def config_of(options: Mapping[str, object]) -> GenerateConfig:
    """Return the configuration that these options set; others are not part of it."""
    given: dict[str, Any] = {x: options[x] for x in _SETTINGS if x in options}
    return GenerateConfig(**given)
