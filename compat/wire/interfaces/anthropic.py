"""Anthropic's Messages: canonical requests, and answers of a script in its shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compat.wire.interfaces.recorded import (
    AnswerReader,
    SaidPart,
    message_of,
    text_of,
)
from compat.wire.interfaces.request import (
    SAID,
    SentBody,
    Tree,
    VendorRequest,
    VendorTool,
    called,
    check_results,
    kind_of,
    listed,
    object_in,
    object_of,
    rest_of,
    settings_of,
    spoken,
    thought_of,
    vendor_request,
)
from compat.wire.server.refusals import ApiError, missing
from compat.wire.server.sessions import ScriptedAnswer
from compat.wire.server.shapes import FINISH, PIECE, event, tokens
from refengine.messages import Json, Message, ToolCall, ToolCallChunk
from refengine.testing.json_values import is_list, is_mapping

ANTHROPIC: Final = "Anthropic Messages"
TEXTS: Final = {"text": "text"}
SETTINGS: Final[Mapping[str, str]] = {
    "model": "model",
    "stream": "stream",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_tokens",
    "stop_sequences": "stop",
    "service_tier": "service_tier",
}
CHOICES: Final = {"auto": "auto", "any": "required", "none": "none"}
STOPPED: Final = {"length": "max_tokens", "content_filter": "refusal"}
ERRORS: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_TAKEN: Final = frozenset(
    (*SETTINGS, "messages", "system", "tools", "tool_choice", "output_config")
)


def anthropic_request(body: Tree) -> VendorRequest:
    """Read the body of a request."""
    choice = object_of(body, "tool_choice")
    settings = settings_of(body, SETTINGS)
    settings["tool_choice"] = CHOICES.get(str(choice.get("type")))
    if choice.get("type") == "tool":
        settings["tool_choice"] = {"name": choice.get("name")}
    if choice.get("disable_parallel_tool_use") is True:
        settings["parallel_tool_calls"] = False
    output = object_of(body, "output_config")
    settings["response_format"] = output.get("format")
    own = rest_of(body, _TAKEN)
    if rest := rest_of(output, ("format",)):
        own["output_config"] = rest
    if failed := _failed(body):
        own["is_error"] = failed
    if marks := [*_marks(body)]:
        own["cache_marks"] = marks
    system = body.get("system")
    first = [spoken("system", system, TEXTS)] if system else []
    said = [each for tree in listed(body, "messages") for each in _messages(tree)]
    tools = map(_tool, listed(body, "tools"))
    asked = (*first, *said), tools
    return vendor_request(ANTHROPIC, asked, settings, own, _is_thought)


def _messages(tree: Tree) -> Iterator[Message]:
    """Yield the messages of one: results of tools stand in a user's message there."""
    content = tree.get("content")
    blocks = content if is_list(content) else [{"type": "text", "text": content or ""}]
    some = [_plain(each) for each in blocks if is_mapping(each)]
    if tree.get("role") == "assistant":
        calls = [
            called(each.get("id"), each.get("name"), each.get("input"))
            for each in some
            if each.get("type") == "tool_use"
        ]
        rest = [each for each in some if each.get("type") != "tool_use"]
        yield spoken("assistant", rest, TEXTS, tool_calls=tuple(calls))
        return
    results = [each for each in some if each.get("type") == "tool_result"]
    yield from map(_result, results)
    rest = [each for each in some if each.get("type") != "tool_result"]
    if rest or not results:
        yield spoken("user", rest, TEXTS)


def _is_thought(part: Tree) -> bool:
    return part.get("type") in {"thinking", "redacted_thinking"}


def _plain(block: Tree) -> Tree:
    """Return a block without the mark that it is to be cached up to here."""
    return {key: each for key, each in block.items() if key != "cache_control"}


def _result(block: Tree) -> Message:
    of = str(block.get("tool_use_id") or "")
    content = block.get("content")
    return spoken("tool", content, TEXTS, tool_call_id=of)


def _failed(body: Tree) -> list[Json]:
    """Return the ids of results that say that a tool failed; nobody else can say so."""
    blocks = [b for each in listed(body, "messages") for b in listed(each, "content")]
    return [str(b.get("tool_use_id")) for b in blocks if b.get("is_error")]


def _marks(body: Tree) -> Iterator[str]:
    """Yield the places up to which a request is to be cached."""
    for key in ("tools", "system"):
        yield from _marked(listed(body, key), key)
    for number, each in enumerate(listed(body, "messages")):
        yield from _marked(listed(each, "content"), f"messages[{number}].content")


def _marked(blocks: Sequence[Tree], where: str) -> Iterator[str]:
    for at, each in enumerate(blocks):
        if each.get("cache_control"):
            yield f"{where}[{at}]"


def _tool(tool: Tree) -> VendorTool:
    return VendorTool(
        str(tool.get("name", "")),
        str(tool.get("description") or ""),
        object_of(tool, "input_schema"),
        tool.get("strict") is True,
        {
            **rest_of(tool, (*SAID, "input_schema", "cache_control")),
            **kind_of(tool, "custom"),
        },
    )


def anthropic_said(body: Tree) -> Message | None:
    """Return what an answer says, None if it has no list of blocks."""
    return message_of(_parts(body)) if is_list(body.get("content")) else None


def _parts(body: Tree) -> Iterator[SaidPart]:
    for block in listed(body, "content"):
        if block.get("type") == "text":
            yield "text", text_of(block.get("text"))
        elif block.get("type") == "tool_use":
            given = json.dumps(block.get("input"), ensure_ascii=False)
            yield ToolCall(text_of(block.get("id")), text_of(block.get("name")), given)


class AnthropicStream(AnswerReader):
    """Reads a stream: each delta is a chunk."""

    def event(self, tree: Tree) -> None:
        """Take an event in."""
        self.ended |= tree.get("type") == "message_stop"
        index = tree.get("index")
        at = index if type(index) is int else None
        block, delta = object_of(tree, "content_block"), object_of(tree, "delta")
        if block.get("type") == "tool_use":
            id_, name = str(block.get("id", "")), str(block.get("name", ""))
            self.say("", ToolCallChunk(at, id_, name))
        elif delta.get("type") == "text_delta":
            self.say(str(delta.get("text", "")))
        elif delta.get("type") == "input_json_delta":
            piece = str(delta.get("partial_json", ""))
            self.say("", ToolCallChunk(at, "", "", piece))


@dataclass(frozen=True, slots=True)
class AnthropicAnswer:
    """An answer as a message of Anthropic's."""

    said: ScriptedAnswer
    asked: VendorRequest

    def whole(self) -> Mapping[str, Json]:
        """Return the body."""
        return {**self._begun(), "content": self._blocks(), **self._ended()}

    def _begun(self) -> dict[str, Any]:
        prompt = sum(tokens(each.content) for each in self.asked.messages)
        return {
            "id": f"msg_{self.said.call}",
            "type": "message",
            "role": "assistant",
            "model": self.asked.settings.get("model"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": prompt,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": self._used(),
            },
        }

    def _used(self) -> int:
        message = self.said.message
        return (
            tokens(message.content)
            + tokens(self._thought())
            + sum(tokens(call.arguments) for call in message.tool_calls)
        )

    def _thought(self) -> str:
        """Return what the model thinks, where the request has it think."""
        asked = self.asked.own.get("thinking")
        thinks = is_mapping(asked) and asked.get("type") in {"enabled", "adaptive"}
        return thought_of(self.said.message) if thinks else ""

    def _ended(self) -> dict[str, Any]:
        message = self.said.message
        usual = "tool_use" if message.tool_calls else "end_turn"
        if message.extra.get("refusal"):
            usual = "refusal"
        reason = STOPPED.get(str(message.extra.get(FINISH)), usual)
        return {"stop_reason": reason, "stop_sequence": None}

    def _blocks(self) -> list[dict[str, Any]]:
        message = self.said.message
        text = message.content or str(message.extra.get("refusal", ""))
        found: list[dict[str, Any]] = []
        if thought := self._thought():
            signature = f"signature-{self.said.call}"
            kind = {"type": "thinking", "thinking": thought}
            found.append({**kind, "signature": signature})
        if text:
            found.append({"type": "text", "text": text})
        return found + [
            {
                "type": "tool_use",
                "id": c.id,
                "name": c.name,
                "input": object_in(c.arguments),
            }
            for c in message.tool_calls
        ]

    def pieces(self) -> Iterator[bytes]:
        """Yield the events of the stream."""
        yield from (event(each, each["type"]) for each in self._events())

    def _events(self) -> Iterator[dict[str, Any]]:
        yield {"type": "message_start", "message": self._begun()}
        broken = self.said.cut or self.said.error is not None
        for at, block in enumerate(self._blocks()):
            bare: dict[str, Any] = {"input": {}, "text": "", "thinking": ""}
            bare["signature"] = ""
            empty = {**block, **{k: v for k, v in bare.items() if k in block}}
            start = {"type": "content_block_start", "index": at}
            yield {**start, "content_block": empty}
            for delta in self._deltas(block):
                yield {"type": "content_block_delta", "index": at, "delta": delta}
            if broken:
                break
            yield {"type": "content_block_stop", "index": at}
        if self.said.error is not None:
            yield dict(error_body(self.said.error))
        elif not broken:
            used = {"output_tokens": self._used()}
            yield {"type": "message_delta", "delta": self._ended(), "usage": used}
            yield {"type": "message_stop"}

    def _deltas(self, block: Tree) -> Iterator[dict[str, Any]]:
        if block["type"] == "tool_use":
            text = json.dumps(block["input"])
            for at in range(0, len(text), PIECE):
                piece = text[at : at + PIECE]
                yield {"type": "input_json_delta", "partial_json": piece}
            return
        if block["type"] == "thinking":
            yield {"type": "thinking_delta", "thinking": block["thinking"]}
            yield {"type": "signature_delta", "signature": block["signature"]}
            return
        pieces = [each.content for each in self.said.chunks if each.content]
        for text in pieces or [str(block["text"])]:
            yield {"type": "text_delta", "text": text}


def error_body(error: ApiError) -> Mapping[str, Any]:
    """Return the body of an error."""
    kind = ERRORS.get(_status(error), "api_error")
    return {"type": "error", "error": {"type": kind, "message": error.message}}


def _status(error: ApiError) -> int:
    return 529 if error.kind.status == 503 else error.kind.status


def check_anthropic(sent: SentBody, asked: VendorRequest) -> None:
    """Refuse what Anthropic refuses; raises ApiError."""
    for name in ("model", "max_tokens", "messages"):
        if not sent.body.get(name):
            raise missing(name)
    check_results(asked.messages)


def anthropic_failed(error: ApiError) -> tuple[int, Mapping[str, Json]]:
    """Return status and body of an error."""
    return _status(error), error_body(error)
