"""Messages as items of the Responses API, which openai-agents keeps, and back.

An answer there is an item for its text and one for each call; ours always has that for
the text, so that answers which follow one another stay apart. What is beside a text
travels in a key of its own, which the framework leaves alone. Nothing is validated: a
model may say what is no valid Unicode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemAddedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)

from refengine.messages import Message, MessageChunk, ToolCall, ToolCallChunk
from refengine.testing.recorder import snapshot

Item: TypeAlias = Any
"""An item of a history, which has a type of its own for each kind."""
_OURS: Final = "refengine"
_ANY_NUMBER: Final = 0
"""Where events are numbered, and nobody reads it."""


def theirs(messages: Iterable[Message]) -> list[Item]:
    """Return our messages as items of an input."""
    return [item for each in messages for item in _items(each)]


def _items(message: Message) -> Iterator[Item]:
    if message.role == "assistant":
        for each in output_of(message):
            yield each.model_dump(exclude_unset=True, warnings=False)
    elif message.role == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message.tool_call_id or "",
            "output": message.content,
            **_beside(message),
        }
    else:
        yield {
            "role": message.role,
            "content": message.content,
            **_beside(message),
        }


def _beside(message: Message) -> dict[str, Any]:
    fields = {each: getattr(message, each) for each in ("id", "name", "extra")}
    # A result that names no tool is told from one that the framework made.
    always = {"name"} if message.role == "tool" else ()
    kept = {each: fields[each] for each in fields if fields[each] or each in always}
    return {_OURS: snapshot(kept)} if kept else {}


def output_of(answer: Message) -> list[Item]:
    """Return an answer of ours as a model's output."""
    text = ResponseOutputText.model_construct(
        type="output_text", text=answer.content, annotations=[]
    )
    said = ResponseOutputMessage.model_construct(
        type="message",
        role="assistant",
        id=FAKE_RESPONSES_ID,
        status="completed",
        content=[text],
        **_beside(answer),
    )
    return [said, *map(_their_call, answer.tool_calls)]


def _their_call(call: ToolCall) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall.model_construct(
        type="function_call",
        call_id=call.id,
        name=call.name,
        arguments=call.arguments,
    )


def ours(items: Iterable[Item]) -> tuple[Message, ...]:
    """Return items of a history as messages."""
    made: list[Message] = []
    names: dict[str, str] = {}
    for item in items:
        if item.get("type") == "function_call":
            call = ToolCall(item["call_id"], item["name"], item["arguments"])
            names[call.id] = call.name
            begun = made.pop() if made and made[-1].role == "assistant" else _NOTHING
            made.append(replace(begun, tool_calls=(*begun.tool_calls, call)))
        else:
            made.append(_ours(item, names))
    return tuple(made)


_NOTHING: Final = Message("assistant")


def _ours(item: Item, names: Mapping[str, str]) -> Message:
    own: Mapping[str, Any] = item.get(_OURS, {})
    if item.get("type") == "function_call_output":
        called = item["call_id"]
        about: Mapping[str, Any] = {"name": names.get(called), **own}
        return Message("tool", str(item["output"]), tool_call_id=called, **about)
    return Message(item["role"], _text(item["content"]), **own)


def _text(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def our_answer(output: Iterable[Item]) -> Message:
    """Return a model's output as an answer of ours."""
    dumped = [each.model_dump(exclude_unset=True, warnings=False) for each in output]
    return (ours(dumped) or (_NOTHING,))[-1]


def events_of(chunk: MessageChunk) -> Iterator[Any]:
    """Return a piece of an answer as events of a stream."""
    where: dict[str, Any] = {
        "item_id": FAKE_RESPONSES_ID,
        "sequence_number": _ANY_NUMBER,
    }
    if chunk.content or not chunk.tool_calls:
        yield ResponseTextDeltaEvent.model_construct(
            type="response.output_text.delta",
            delta=chunk.content,
            content_index=0,
            output_index=0,
            logprobs=[],
            **where,
        )
    for piece in chunk.tool_calls:
        if piece.name or piece.id or piece.index is None:
            begun = ToolCall(piece.id, piece.name, piece.arguments)
            yield ResponseOutputItemAddedEvent.model_construct(
                type="response.output_item.added",
                item=_their_call(begun),
                output_index=piece.index,
                sequence_number=_ANY_NUMBER,
            )
        else:
            yield ResponseFunctionCallArgumentsDeltaEvent.model_construct(
                type="response.function_call_arguments.delta",
                delta=piece.arguments,
                output_index=piece.index,
                **where,
            )


def last_event(answer: Message) -> ResponseCompletedEvent:
    """Return the event that ends a stream: it has the whole answer."""
    response = Response.model_construct(
        id=FAKE_RESPONSES_ID, output=output_of(answer), usage=None
    )
    return ResponseCompletedEvent.model_construct(
        type="response.completed", response=response, sequence_number=_ANY_NUMBER
    )


def our_chunk(event: object) -> MessageChunk | None:
    """Return a piece of an answer; None for an event that brings no piece."""
    if isinstance(event, ResponseTextDeltaEvent):
        return MessageChunk(event.delta)
    if isinstance(event, ResponseOutputItemAddedEvent):
        call = event.item
        if isinstance(call, ResponseFunctionToolCall):
            given = call.call_id, call.name, call.arguments
            begun = ToolCallChunk(event.output_index, *given)
            return MessageChunk("", (begun,))
    if isinstance(event, ResponseFunctionCallArgumentsDeltaEvent):
        more = ToolCallChunk(event.output_index, arguments=event.delta)
        return MessageChunk("", (more,))
    return None
