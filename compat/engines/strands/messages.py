"""Messages as strands keeps them, of blocks of content, and back.

A message there is the user's or an answer; results stand in one of the user's, all
those of an answer together. What has no place there travels in a key of its own, beside
the block or in the call, which the framework leaves alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from compat.engines.frame import FrameRefusals
from refengine.messages import Message, MessageChunk, ToolCall, ToolCallChunk
from refengine.testing.recorder import snapshot

Item: TypeAlias = Any
"""A message of a history, or a part of it: a dict of the framework."""
_OURS: Final = "refengine"


def theirs(frame: FrameRefusals, messages: Iterable[Message]) -> list[Item]:
    """Return our messages as the framework's; results that follow share one.

    Refuses arguments that are not a JSON object.
    """
    made: list[Item] = []
    for each in messages:
        role = "user" if each.role == "tool" else each.role
        blocks = list(_blocks(frame, each))
        if each.role == "tool" and made and _has_results(made[-1]):
            made[-1]["content"] += blocks
        else:
            made.append({"role": role, "content": blocks})
    return made


def _has_results(item: Item) -> bool:
    return any("toolResult" in block for block in item["content"])


def _blocks(frame: FrameRefusals, message: Message) -> Iterator[Item]:
    beside = _beside(message)
    if message.role == "tool":
        result = their_result(message.tool_call_id or "", message.content)
        yield {"toolResult": {**result, **beside}}
        return
    if message.content or not message.tool_calls:
        yield {"text": message.content, **beside}
        beside = {}
    for call in message.tool_calls:
        yield {"toolUse": their_call(call, frame.parsed(call)), **beside}
        beside = {}


def their_result(call_id: str, text: str) -> Item:
    """Return a call's result."""
    return {"toolUseId": call_id, "status": "success", "content": [{"text": text}]}


def named_result(call_id: str, text: str, name: str) -> Item:
    """Return a call's result that knows its tool, whatever becomes of the id."""
    return {**their_result(call_id, text), _OURS: {"name": name}}


def _beside(message: Message) -> dict[str, Any]:
    fields = {each: getattr(message, each) for each in ("id", "name", "extra")}
    # A result that names no tool is told from one that the framework made.
    always = {"name"} if message.role == "tool" else ()
    kept = {each: fields[each] for each in fields if fields[each] or each in always}
    return {_OURS: snapshot(kept)} if kept else {}


def their_call(call: ToolCall, meant: Mapping[str, Any]) -> Item:
    """Return a call of ours, and what its arguments mean."""
    about = {"toolUseId": call.id, "name": call.name, "input": meant}
    return {**about, _OURS: call.arguments}


def our_call(use: Mapping[str, Any]) -> ToolCall:
    """Return a call, its arguments as they were written if they still are those."""
    text = use.get(_OURS)
    if text is None or json.loads(text) != use["input"]:
        text = json.dumps(use["input"])
    return ToolCall(use["toolUseId"], use["name"], text)


def ours(items: Iterable[Item]) -> tuple[Message, ...]:
    """Return messages of the framework as ours."""
    made: list[Message] = []
    names: dict[str, str] = {}
    for item in items:
        if _has_results(item):
            made += our_results(item, names)
            continue
        made.append(our_message(item))
        names |= {call.id: call.name for call in made[-1].tool_calls}
    return tuple(made)


def our_results(item: Item, names: Mapping[str, str]) -> Iterator[Message]:
    """Yield the results that a message of the user's brings."""
    for block in item["content"]:
        result = block["toolResult"]
        called = result["toolUseId"]
        about: Mapping[str, Any] = {"name": names.get(called), **result.get(_OURS, {})}
        text = _text(result["content"])
        yield Message("tool", text, tool_call_id=called, **about)


def our_message(item: Item) -> Message:
    """Return a message that brings no results."""
    blocks = item["content"]
    own: Mapping[str, Any] = {}
    for each in blocks:
        own = own or each.get(_OURS, {})
    calls = tuple(our_call(each["toolUse"]) for each in blocks if "toolUse" in each)
    return Message(item["role"], _text(blocks), calls, **own)


def _text(blocks: Iterable[Item]) -> str:
    return "".join(each.get("text", "") for each in blocks)


def annotate(item: Item, said: Message) -> None:
    """Write beside an answer that the framework made what it has no place for."""
    for use in (each["toolUse"] for each in item["content"] if "toolUse" in each):
        for call in said.tool_calls:
            if their_call(call, use["input"]) == {**use, _OURS: call.arguments}:
                use[_OURS] = call.arguments  # see ``our_call``, which compares
    beside = _beside(said)
    if beside and not item["content"]:
        item["content"].append({"text": ""})
    for block in item["content"][:1]:
        block.update(beside)


def stopped(message: Message) -> Literal["tool_use", "end_turn"]:
    """Return why an answer ended, as a model says it."""
    return "tool_use" if message.tool_calls else "end_turn"


def text_event(text: str) -> Item:
    """Return a piece of an answer's text as a model's stream brings it."""
    return {"contentBlockDelta": {"delta": {"text": text}}}


def call_events(piece: ToolCallChunk, number: int, *, begins: bool) -> Iterator[Item]:
    """Yield what a piece of a call is in a model's stream; the first one begins it."""
    at = {"contentBlockIndex": number}
    if begins:
        begun = {"toolUse": {"toolUseId": piece.id, "name": piece.name}}
        yield {"contentBlockStart": {"start": begun, **at}}
    delta = {"toolUse": {"input": piece.arguments}}
    yield {"contentBlockDelta": {"delta": delta, **at}}


def begun_by(event: Item) -> Item:
    """Return the call that an event of a stream begins; None for another event."""
    return event.get("contentBlockStart", {}).get("start", {}).get("toolUse")


def our_chunk(event: Item, begun: Item) -> MessageChunk | None:
    """Return a piece of an answer; None for what brings none.

    ``begun`` is the call that the event before began: what it is called is told with
    the first of its arguments.
    """
    block = event.get("contentBlockDelta")
    if block is None:
        return None
    if "text" in block["delta"]:
        return MessageChunk(block["delta"]["text"])
    id_, name = (begun["toolUseId"], begun["name"]) if begun else ("", "")
    more = block["delta"]["toolUse"]["input"]
    piece = ToolCallChunk(block["contentBlockIndex"], id_, name, more)
    return MessageChunk("", (piece,))
