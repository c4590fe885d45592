"""Exchanges of Anthropic's Messages API as steps, as those of chat completions are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from compat.models.chat_answers import CUT, RecordedAnswer, answer_of, failed
from compat.models.chat_logs import chat_messages
from compat.models.chat_parts import LeftOut
from compat.models.chat_requests import RecordedRequest, body_of
from compat.models.errors import RequestError, ShapeError
from compat.models.exchanges import RecordedStep, is_streamed
from compat.models.sse import ServerSentEvent, events_of
from compat.wire.exchanges import Exchange, Response
from refengine.messages import Message, MessageChunk, ToolCallChunk
from refengine.testing.json_values import is_list, is_mapping

ANTHROPIC: Final = "Anthropic Messages"
NO_ANSWER: Final = "the stream has no answer"


def read_anthropic(exchange: Exchange, file: str, number: int) -> RecordedStep:
    """Read one exchange of Anthropic's Messages; raises RequestError."""
    try:
        request = _request(exchange.request.body)
    except ShapeError as error:
        raise RequestError(file, number, str(error)) from error
    return RecordedStep(number, request, _answer(exchange.response))


def _request(body: bytes) -> RecordedRequest:
    tree = body_of(body)
    if not is_list(tree.get("messages")):
        raise ShapeError("request", "has no list of messages")
    messages = chat_messages(tree["messages"], tree.get("system"))
    tools: Sequence[Any] = tree["tools"] if is_list(tree.get("tools")) else ()
    # Those of a type run at the vendor's, and the agent has none of them.
    names = [
        str(each["name"])
        for each in tools
        if is_mapping(each)
        and each.get("type", "custom") == "custom"
        and "name" in each
    ]
    return RecordedRequest(
        tuple(messages), tuple(dict.fromkeys(names)), tree.get("stream") is True
    )


def _answer(response: Response) -> RecordedAnswer:
    if is_streamed(response) and response.status < 300:
        return _streamed(events_of([response.body])[0])
    tree = _tree(response.body)
    if tree is None or response.status >= 300 or not is_list(tree.get("content")):
        return answer_of(response.status, response.body, LeftOut())
    try:
        return RecordedAnswer(_message(tree["content"]))
    except ShapeError as error:
        return failed(f"HTTP {response.status} of another shape", str(error))


def _message(blocks: Sequence[Any]) -> Message:
    """Return the message of these blocks: its text and its calls."""
    kept = [b for b in blocks if is_mapping(b) and b.get("type") in _SAID]
    found = chat_messages([{"role": "assistant", "content": kept}])
    return found[0] if found else Message("assistant", "")


_SAID: Final = frozenset(("text", "tool_use"))


def _tree(body: bytes) -> Mapping[str, Any] | None:
    try:
        tree = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return tree if is_mapping(tree) else None


def _streamed(events: Iterable[ServerSentEvent]) -> RecordedAnswer:
    """Return the chunks of a stream: each delta is one."""
    chunks: list[MessageChunk] = []
    failure: str | None = CUT
    for event in events:
        tree = _tree(event.data.encode())
        if tree is None:
            failure = "an event that is not JSON"
            break
        kind = tree.get("type")
        if kind == "message_stop":
            failure = None
        elif kind == "error":
            inner = tree.get("error")
            named = inner.get("type", "") if is_mapping(inner) else ""
            failure = f"in stream {named}".strip()
            break
        else:
            chunks += _pieces(tree)
    if not chunks:
        return failed(failure or NO_ANSWER)
    return RecordedAnswer(chunks=tuple(chunks), failure=failure)


def _pieces(event: Mapping[str, Any]) -> list[MessageChunk]:
    index = event.get("index")
    at = index if type(index) is int else None
    block, delta = event.get("content_block"), event.get("delta")
    if is_mapping(block) and block.get("type") == "tool_use":
        call = ToolCallChunk(at, str(block.get("id", "")), str(block.get("name", "")))
        return [MessageChunk("", (call,))]
    if not is_mapping(delta):
        return []
    if delta.get("type") == "text_delta":
        return [MessageChunk(str(delta.get("text", "")))]
    if delta.get("type") == "input_json_delta":
        piece = ToolCallChunk(at, "", "", str(delta.get("partial_json", "")))
        return [MessageChunk("", (piece,))]
    return []
