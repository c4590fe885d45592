"""Contents and events of the Flow dialect as observations have them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from compat.dialects.flow.confirming import ORIGINAL
from compat.dialects.flow.content import (
    Content,
    FunctionCall,
    FunctionResponse,
    Part,
    text_content,
)
from compat.dialects.flow.contents import CONFIRMATION
from compat.dialects.flow.events import Actions, Event
from compat.dialects.flow.merging import is_final
from compat.dialects.flow.profile import FlowProfile
from compat.dialects.flow.values import plain
from refengine.messages import Json, Message
from refengine.testing.flows.events import (
    USER,
    FlowCall,
    FlowEvent,
    FlowQuestion,
    FlowResponse,
    as_messages,
    known,
)
from refengine.testing.flows.stack import Said
from refengine.testing.json_values import is_mapping
from refengine.testing.recorder import snapshot

TEXTUAL: Final = ("text/", "application/json")
SET: Final = ("skip_summarization", "transfer_to_agent", "escalate")
"""Flags of actions; what is not set is not told."""


def said(content: Content) -> Iterator[Json]:
    """Return a content as messages: what is said, and each function response."""
    parts = content.parts
    said = text_in(parts), calls_in(parts), others_in(parts)
    return as_messages(content.role, *said, responses_in(content.responses))


def responses_in(given: Iterable[FunctionResponse]) -> tuple[FlowResponse, ...]:
    """Return function responses as observations have them, in order."""
    return tuple(
        FlowResponse(each.id, each.name, snapshot(plain(each.response)))
        for each in given
    )


def text_in(parts: Sequence[Part]) -> str:
    """Return the text of some parts, without what the model only thought."""
    return "".join(each.text for each in parts if each.text and not each.thought)


def calls_in(parts: Sequence[Part]) -> tuple[FlowCall, ...]:
    """Return the calls in some parts, in order."""
    return tuple(
        FlowCall(each.call.id, each.call.name, as_object(plain(each.call.args)))
        for each in parts
        if each.call is not None
    )


def others_in(parts: Sequence[Part]) -> list[Json]:
    """Return what of some parts is neither text nor a call nor a response."""
    return [found for each in parts if (found := _other(each))]


def _other(part: Part) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if part.thought:
        found = {"text": part.text, "thought": True}
    if part.blob is not None:
        data = base64.urlsafe_b64encode(part.blob.data).decode()
        found["inline_data"] = {"data": data, "mime_type": part.blob.mime_type}
    if part.file is not None:
        file = part.file
        found["file_data"] = {"file_uri": file.uri, "mime_type": file.mime_type}
    if part.code is not None:
        found["executable_code"] = {"code": part.code}
    if part.code_result is not None:
        result = part.code_result
        found["code_execution_result"] = {
            "outcome": result.outcome,
            "output": result.output,
        }
    return found


def as_object(value: Json) -> Mapping[str, Json]:
    """Return a JSON object, an empty one for anything else."""
    return value if is_mapping(value) else {}


def content_of(message: Message) -> Content:
    """Return a message as the dialect has it; a call without an object has none."""
    if message.role == "tool":
        told = {"result": message.content}
        name, call_id = message.name or "tool", message.tool_call_id or ""
        return Content("user", (Part(response=FunctionResponse(name, told, call_id)),))
    parts = [Part(text=message.content)] if message.content else []
    for call in message.tool_calls:
        args = _parsed(call.arguments)
        parts.append(Part(call=FunctionCall(call.name, args, call.id)))
    role = "model" if message.role == "assistant" else "user"
    return Content(role, tuple(parts or [Part(text="")]))


def user_content(said: Said) -> Content:
    """Return what a user says: a text, or answers to what was asked."""
    if isinstance(said, str):
        return text_content(USER, said)
    answers = (
        FunctionResponse(each.name, as_object(each.response), each.id) for each in said
    )
    return Content(USER, tuple(Part(response=each) for each in answers))


def _parsed(arguments: str) -> Mapping[str, Json]:
    try:
        return as_object(json.loads(arguments or "{}"))
    except ValueError:
        return {}


def artifact(part: Part | None) -> Json:
    """Return one version of an artifact: a text as such, bytes with their type."""
    if part is None:
        return None
    blob = part.blob
    if blob is not None and blob.mime_type.startswith(TEXTUAL):
        text = blob.data.decode("utf-8", "replace")
        return {"mime_type": blob.mime_type, "text": text}
    return _other(part) or {"text": part.text}


def seen_event(event: Event, profile: FlowProfile) -> FlowEvent:
    """Return an event of the dialect as observations have it."""
    parts = event.content.parts if event.content is not None else ()
    calls = calls_in(parts)
    return FlowEvent(
        author=event.author,
        text=text_in(parts),
        calls=calls,
        responses=responses_in(event.responses),
        questions=tuple(_question(e) for e in calls if e.name == CONFIRMATION),
        partial=event.partial,
        final=not event.partial and is_final(event, profile),
        actions=_actions(event.actions),
        more=_more(event, others_in(parts)),
    )


def _more(event: Event, others: Sequence[Json]) -> dict[str, Json]:
    more: dict[str, Json] = {}
    if event.error_code:
        more["error_code"] = event.error_code
        if event.error_code.isupper():  # else a class of exceptions, told by that
            more["error_message"] = event.error_message
    if event.interrupted:
        more["interrupted"] = True
    if event.metadata:
        more["custom_metadata"] = snapshot(plain(event.metadata))
    if event.long_running_ids:
        more["long_running"] = [*map(known, sorted(event.long_running_ids))]
    if others:
        more["parts"] = [*others]
    return more


def _actions(actions: Actions) -> dict[str, Json]:
    """Return what an event does besides saying something, without what is not set."""
    asked = {
        known(call): {
            "hint": each.hint,
            "confirmed": each.confirmed,
            **({} if each.payload is None else {"payload": plain(each.payload)}),
        }
        for call, each in actions.requested_confirmations.items()
    }
    values: dict[str, Any] = {
        "state_delta": plain(actions.state_delta),
        "artifact_delta": dict(actions.artifact_delta),
        "requested_tool_confirmations": asked,
        **{name: getattr(actions, name) for name in SET},
    }
    empty: tuple[object, ...] = ({}, [], "", None)
    return {key: snapshot(each) for key, each in values.items() if each not in empty}


def _question(call: FlowCall) -> FlowQuestion:
    asked = as_object(call.args.get(ORIGINAL))
    told = as_object(call.args.get("toolConfirmation"))
    args = as_object(asked.get("args"))
    original = FlowCall(str(asked.get("id", "")), str(asked.get("name", "")), args)
    return FlowQuestion(call.id, call.name, original, str(told.get("hint", "")))
