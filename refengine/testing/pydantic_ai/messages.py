"""Messages of pydantic-ai as ours, and ours as its.

A request there holds the parts of many messages of ours, and requests that follow one
another are joined; a response is one message. What is beside a text travels in the
``metadata`` of its part or response. Arguments of calls stay the text they were.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, Final

from pydantic_ai import messages as their_messages
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextContent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserPromptPart,
)

from refengine.messages import Json, Message, MessageChunk, ToolCall, ToolCallChunk
from refengine.testing.json_values import is_mapping
from refengine.testing.recorder import snapshot

_OURS: Final = "refengine"
DONE: Final = "success"
"""How a call ended whose tool, or a hook in its place, gave a result."""
MODEL: Final = "world"
"""The name of the model: responses without one are joined when they meet."""
_RETRIES: Final = ("RetryFeedbackPart", "RetryPromptPart")
_RETRY: Final[Any] = next(
    found for name in _RETRIES if (found := getattr(their_messages, name, None))
)
"""What has a model try again; in older releases also what answers a failed call."""
_UNMARKED: Final[Mapping[str, Any]] = {
    name: False
    for name in signature(ToolReturnPart.model_response_str).parameters
    if name == "wrap_if_error"
}
"""What keeps newer releases from a mark of their own in the text of a failed call."""


def theirs(messages: Iterable[Message]) -> list[ModelMessage]:
    """Return our messages as the framework's, a request for all between two answers."""
    made: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for message in messages:
        if message.role != "assistant":
            parts.append(_part(message))
            continue
        if parts:
            made.append(ModelRequest(parts))
            parts = []
        made.append(their_answer(message))
    return [*made, ModelRequest(parts)] if parts else made


def _part(message: Message) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(message.content)
    if message.role == "tool":
        given = message.name or "", message.content, message.tool_call_id or ""
        return ToolReturnPart(*given, metadata=beside(message, "id", "extra"))
    own = beside(message, "id", "name", "extra")
    if not own:
        return UserPromptPart(message.content)
    return UserPromptPart([TextContent(message.content, metadata=own)])


def beside(said: Message | MessageChunk, *fields: str) -> dict[str, Any] | None:
    """Return what a message has in these fields, as metadata; None if nothing."""
    kept = {field: getattr(said, field) for field in fields}
    own = {field: value for field, value in kept.items() if value}
    return {_OURS: own} if own else None


def _own(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (metadata or {}).get(_OURS, {})
    return found


def their_answer(message: Message) -> ModelResponse:
    """Return an answer of ours as the framework's."""
    text = [TextPart(message.content)] if message.content else []
    calls = [ToolCallPart(c.name, c.arguments, c.id) for c in message.tool_calls]
    parts: list[ModelResponsePart] = [*text, *calls]
    own = beside(message, "id", "name", "extra")
    return ModelResponse(parts, model_name=MODEL, metadata=own)


def ours(messages: Iterable[ModelMessage]) -> tuple[Message, ...]:
    """Return the framework's messages as ours."""
    return tuple(one for each in messages for one in _ours(each))


def unnamed(messages: Iterable[Message]) -> list[Message]:
    """Return messages without the name of a result's tool, which its call has.

    Other frameworks keep none there, and few requests carry it.
    """
    return [replace(m, name=None) if m.role == "tool" else m for m in messages]


def marks(messages: Iterable[ModelMessage]) -> list[Json]:
    """Return what messages carry beside what is said, as LangChain has such.

    A result says whether its call was done (``status``), and its metadata are what an
    application keeps of it (``artifact``).
    """
    return [mark for each in messages for mark in _marks(each)]


def _marks(message: ModelMessage) -> Iterator[Json]:
    if isinstance(message, ModelResponse):
        yield {}
        return
    for part in message.parts:
        of_call = getattr(part, "tool_name", None) is not None
        for _ in _of_part(part):
            yield _mark(part) if of_call else {}


def _mark(part: ModelRequestPart) -> dict[str, Json]:
    """Return it of a result; older releases tell a call that failed by its class."""
    outcome = getattr(part, "outcome", DONE if isinstance(part, ToolReturnPart) else "")
    found: dict[str, Json] = {"status": DONE if outcome == DONE else "error"}
    kept: Any = getattr(part, "metadata", None)
    if kept is not None and not _own(kept if is_mapping(kept) else None):
        found["artifact"] = snapshot(kept)
    return found


def _ours(message: ModelMessage) -> Iterator[Message]:
    if isinstance(message, ModelResponse):
        yield our_answer(message)
        return
    for part in message.parts:
        yield from _of_part(part)


def _of_part(part: ModelRequestPart) -> Iterator[Message]:
    if isinstance(part, SystemPromptPart):
        yield Message("system", part.content)
    elif isinstance(part, ToolReturnPart):
        yield our_result(part)
    elif isinstance(part, UserPromptPart):
        yield from _prompts(part)
    elif isinstance(part, _RETRY):
        yield _our_retry(part)


def _our_retry(part: Any) -> Message:  # noqa: ANN401  # its class is a release's own
    """Return what the model is told of an answer, or of a call, that did not fit."""
    if _RETRY.__name__ == _RETRIES[0]:
        return Message("user", str(part.content))
    text, name = part.model_response(), part.tool_name
    if name is None:
        return Message("user", text)
    return Message("tool", text, tool_call_id=part.tool_call_id, name=name)


def _prompts(part: UserPromptPart) -> Iterator[Message]:
    several = [part.content] if isinstance(part.content, str) else part.content
    for each in several:
        if isinstance(each, TextContent):
            yield Message("user", each.content, **_own(each.metadata))
        else:
            yield Message("user", str(each))


def our_result(part: object) -> Message:
    """Return a result of a tool, as the model is told it."""
    if not isinstance(part, ToolReturnPart):  # a release in which a retry is another
        return _our_retry(part)
    return Message(
        "tool",
        _as_others_write(part.content, part.model_response_str(**_UNMARKED)),
        tool_call_id=part.tool_call_id,
        name=part.tool_name or None,
        **_own(part.metadata),
    )


def _as_others_write(content: object, told: str) -> str:
    """Return a result as text; one that is no text as JSON with spaces.

    How JSON is spaced is the framework's, and a result that is text stays as it is.
    """
    if isinstance(content, str):
        return told
    try:
        return json.dumps(json.loads(told), ensure_ascii=False)
    except ValueError:
        return told


def our_answer(response: ModelResponse) -> Message:
    """Return an answer of the framework's as ours."""
    text = [part.content for part in response.parts if isinstance(part, TextPart)]
    calls = [
        ToolCall(part.tool_call_id, part.tool_name, written(part.args))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]
    own = _own(response.metadata)
    return Message("assistant", "".join(text), tuple(calls), **own)


def our_chunk(event: object) -> MessageChunk | None:
    """Return a piece of an answer; None for an event that brings no piece."""
    if isinstance(event, PartStartEvent):
        part = event.part
        if isinstance(part, TextPart):
            return MessageChunk(part.content)
        if isinstance(part, ToolCallPart):
            given = part.tool_call_id, part.tool_name, written(part.args)
            return MessageChunk("", (ToolCallChunk(event.index, *given),))
    if isinstance(event, PartDeltaEvent):
        delta = event.delta
        if isinstance(delta, TextPartDelta):
            return MessageChunk(delta.content_delta)
        if isinstance(delta, ToolCallPartDelta):
            name = delta.tool_name_delta or ""  # the id came when the part began
            piece = ToolCallChunk(event.index, "", name, written(delta.args_delta))
            return MessageChunk("", (piece,))
    return None


def written(arguments: str | Mapping[str, Any] | None) -> str:
    """Return arguments as text, as whoever wrote them did."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments)
