"""Contents of ADK as observations have them, and messages as contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from google.adk.artifacts import BaseArtifactService
from google.genai import types

from refengine.messages import Json, Message
from refengine.testing.flows.events import (
    USER,
    FlowCall,
    FlowResponse,
    Said,
    as_messages,
    as_object,
    object_in,
)
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.notation import parts_of
from refengine.testing.recorder import snapshot

PLAIN: Final = frozenset(("text", "function_call", "function_response"))
"""What of a part is told by a message; whatever else it has is told beside."""


def part_values(part: types.Part) -> dict[str, Json]:
    """Return a part as JSON values, without what is not set."""
    return cast(
        "dict[str, Json]",
        part.model_dump(mode="json", exclude_none=True, by_alias=False),
    )


def calls_in(parts: Sequence[types.Part]) -> tuple[FlowCall, ...]:
    """Return the calls in some parts, in order."""
    calls = [each.function_call for each in parts if each.function_call]
    return tuple(
        FlowCall(each.id or "", each.name or "", as_object(snapshot(each.args)))
        for each in calls
    )


def responses_in(parts: Sequence[types.Part]) -> tuple[FlowResponse, ...]:
    """Return the function responses in some parts, in order."""
    found = [each.function_response for each in parts if each.function_response]
    return tuple(
        FlowResponse(each.id or "", each.name or "", snapshot(each.response))
        for each in found
    )


def text_in(parts: Sequence[types.Part]) -> str:
    """Return the text of some parts, without what the model only thought."""
    return "".join(each.text for each in parts if each.text and not each.thought)


def others_in(parts: Sequence[types.Part]) -> list[Json]:
    """Return what of some parts is neither text nor a call nor a response."""
    values = map(part_values, parts)
    return [each for each in values if set(each) - PLAIN]


async def files_of(
    service: BaseArtifactService, place: Mapping[str, str]
) -> dict[str, list[types.Part | None]]:
    """Return the versions of each artifact of a session, by name."""
    given: dict[str, Any] = dict(place)
    found: dict[str, list[types.Part | None]] = {}
    for name in sorted(await service.list_artifact_keys(**given)):
        found[name] = [
            await service.load_artifact(**given, filename=name, version=each)
            for each in await service.list_versions(**given, filename=name)
        ]
    return found


def said(content: types.Content) -> Iterator[Json]:
    """Return a content as messages: what is said, and each function response."""
    parts = content.parts or []
    said = text_in(parts), calls_in(parts), others_in(parts), responses_in(parts)
    return as_messages(content.role, *said)


def instruction_in(given: object) -> str:
    """Return the text of a system instruction, in whatever form it was given."""
    if given is None or isinstance(given, str):
        return given or ""
    if isinstance(given, types.Content):
        return text_in(given.parts or [])
    if isinstance(given, types.Part):
        return given.text or ""
    if is_list(given):
        return "\n".join(map(instruction_in, given))
    return str(given)


def shown_tools(config: types.GenerateContentConfig) -> list[Json]:
    """Return the tools of a request; one of a vendor's own stays as it is."""
    shown: list[Json] = []
    for tool in config.tools or []:
        declared: Any = getattr(tool, "function_declarations", None)
        if declared is None:
            shown.append(_dumped(tool))
            continue
        shown += [_declaration(each) for each in declared]
    return shown


def _dumped(value: Any) -> Json:  # noqa: ANN401  # a tool of any kind
    dump = getattr(value, "model_dump", None)
    return snapshot(dump(mode="json", exclude_none=True) if dump else value)


def _declaration(declared: types.FunctionDeclaration) -> Json:
    values = as_object(_dumped(declared))
    schema = values.get("parameters_json_schema", values.get("parameters"))
    rest = {
        key: each
        for key, each in values.items()
        if key not in {"parameters", "parameters_json_schema"}
    }
    shown = dict(as_object(_lower(schema)))
    if shown.get("title") == f"{declared.name}Params":
        del shown["title"]  # of a class that was made of a function, which nobody wrote
    return {**rest, "parameters": shown}


def _lower(schema: Json) -> Json:
    """Return a schema with the names of types as JSON schema has them."""
    if is_mapping(schema):
        return {
            key: each.lower()
            if key == "type" and isinstance(each, str)
            else _lower(each)
            for key, each in schema.items()
        }
    return [_lower(each) for each in schema] if is_list(schema) else schema


def content_of(message: Message) -> types.Content:
    """Return a message as a content; a call without an id is given one later."""
    if message.role == "tool":
        result = {"result": message.content}
        name = message.name or "tool"
        return user_content([FlowResponse(message.tool_call_id or "", name, result)])
    if message.role != "assistant":
        return user_content(message.content)
    parts = [types.Part(text=each) for each in parts_of(message.content)]
    for call in message.tool_calls:
        made = types.FunctionCall(
            id=call.id or None, name=call.name, args=object_in(call.arguments)
        )
        parts.append(types.Part(function_call=made))
    return types.Content(role="model", parts=parts or [types.Part(text="")])


def user_content(said: Said) -> types.Content:
    """Return what a user says: a text, or answers to what was asked."""
    if isinstance(said, str):
        texts = parts_of(said) or [said]
        return types.Content(role=USER, parts=[types.Part(text=e) for e in texts])
    answers = [
        types.FunctionResponse(
            id=each.id or None,
            name=each.name,
            response=dict(as_object(each.response)),
        )
        for each in said
    ]
    parts = [types.Part(function_response=each) for each in answers]
    return types.Content(role=USER, parts=parts)
