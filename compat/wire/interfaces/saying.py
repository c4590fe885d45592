"""Answers of the four interfaces: read as what was said, and written again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from compat.wire.interfaces.anthropic import ANTHROPIC
from compat.wire.interfaces.chat import CHAT
from compat.wire.interfaces.gemini import GEMINI
from compat.wire.interfaces.responses import RESPONSES
from compat.wire.interfaces.said import (
    Kind,
    Paths,
    SaidError,
    SaidPart,
    Tree,
    VendorSaid,
    as_object,
    as_text,
    joined_texts,
    objects,
    put_usage,
    taken_usage,
    text_of,
    without,
)
from refengine.messages import ToolCall
from refengine.testing.json_values import is_list, is_mapping


class Saying(Protocol):
    """How an interface says an answer, in one piece."""

    def read(self, body: Tree) -> VendorSaid:
        """Return what a body says."""
        ...

    def written(self, said: VendorSaid) -> dict[str, Any]:
        """Return the body that says it."""
        ...


def _error_read(body: Tree, kind: str, *own: str) -> VendorSaid:
    inner: Tree = body["error"]
    more = without(inner, "message", kind, "code")
    error = SaidError(
        text_of(inner.get("message")), inner.get(kind), inner.get("code"), more
    )
    return VendorSaid(error=error, own=without(body, "error", *own))


def _error_written(said: VendorSaid, kind: str) -> dict[str, Any]:
    error = said.error
    if error is None:
        raise AssertionError(said)
    inner: dict[str, Any] = {**error.more, "message": error.message}
    if error.kind is not None:
        inner[kind] = error.kind
    if error.code is not None:
        inner["code"] = error.code
    return {**said.own, "error": inner}


class ChatSaying:
    """Chat completions; of several choices the first one is read, others are kept."""

    usage: Final[Paths] = {
        "input": ("prompt_tokens",),
        "output": ("completion_tokens",),
        "cached": ("prompt_tokens_details", "cached_tokens"),
        "reasoning": ("completion_tokens_details", "reasoning_tokens"),
    }
    reasoned: Final = ("reasoning_content", "reasoning")

    def read(self, body: Tree) -> VendorSaid:
        """Return what a body says."""
        if is_mapping(body.get("error")):
            return _error_read(body, "type")
        usage, rest = taken_usage(body.get("usage"), self.usage)
        choices = objects(body.get("choices"))
        choice: Tree = choices[0] if choices else {}
        message: Tree = choice.get("message") or {}
        own = {
            **without(body, "usage", "choices"),
            "usage": rest,
            "choice": without(choice, "message", "finish_reason"),
            "message": without(message, "content", "refusal", "tool_calls"),
            "others": choices[1:],
        }
        parts = tuple(self._parts(message))
        return VendorSaid(parts, choice.get("finish_reason"), usage, own=own)

    def _parts(self, message: Tree) -> Iterator[SaidPart]:
        for key in self.reasoned:
            if text_of(message.get(key)):
                yield SaidPart("reasoning", message[key], more={"key": key})
        content = message.get("content")
        if is_list(content):
            for each in objects(content):
                known = each.get("type") == "text"
                text = text_of(each.get("text"))
                yield SaidPart("text" if known else "other", text, more=each)
        elif isinstance(content, str):
            yield SaidPart("text", content)
        if text_of(message.get("refusal")):
            yield SaidPart("refusal", message["refusal"])
        for call in objects(message.get("tool_calls")):
            inner: Tree = call.get("function") or {}
            made = ToolCall(
                text_of(call.get("id")),
                text_of(inner.get("name")),
                text_of(inner.get("arguments")),
            )
            yield SaidPart("call", call=made, more=without(call, "id", "function"))

    def written(self, said: VendorSaid) -> dict[str, Any]:
        """Return the body that says it."""
        if said.error is not None:
            return _error_written(said, "type")
        own = dict(said.own)
        message: dict[str, Any] = {**own.pop("message"), **self._message(said)}
        choice = {**own.pop("choice"), "message": message}
        choice["finish_reason"] = said.finish
        others, rest = own.pop("others"), own.pop("usage")
        return {
            **own,
            "choices": [choice, *others],
            "usage": put_usage(said.usage, rest, self.usage),
        }

    def _message(self, said: VendorSaid) -> dict[str, Any]:
        message: dict[str, Any] = {}
        texts = [each for each in said.parts if each.kind in {"text", "other"}]
        if any(each.more for each in texts):
            message["content"] = [
                {**each.more, **({"text": each.text} if each.kind == "text" else {})}
                for each in texts
            ]
        else:
            message["content"] = joined_texts(e.text for e in texts) if texts else None
        message["refusal"] = next(
            (each.text for each in said.parts if each.kind == "refusal"), None
        )
        for each in said.parts:
            if each.kind == "reasoning":
                message[each.more["key"]] = each.text
        calls = [each for each in said.parts if each.call is not None]
        if calls:
            message["tool_calls"] = [self._call(each) for each in calls]
        return message

    def _call(self, part: SaidPart) -> dict[str, Any]:
        call = _called(part)
        function = {"name": call.name, "arguments": call.arguments}
        return {**part.more, "id": call.id, "function": function}


def _called(part: SaidPart) -> ToolCall:
    if part.call is None:
        raise AssertionError(part)
    return part.call


class ResponsesSaying:
    """Responses: items of output, those of a message part by part."""

    usage: Final[Paths] = {
        "input": ("input_tokens",),
        "output": ("output_tokens",),
        "cached": ("input_tokens_details", "cached_tokens"),
        "reasoning": ("output_tokens_details", "reasoning_tokens"),
    }
    texts: Final[Mapping[str, tuple[Any, str]]] = {
        "output_text": ("text", "text"),
        "refusal": ("refusal", "refusal"),
    }

    def read(self, body: Tree) -> VendorSaid:
        """Return what a body says; its status is why it ended."""
        if is_mapping(body.get("error")) and "output" not in body:
            return _error_read(body, "type")
        usage, rest = taken_usage(body.get("usage"), self.usage)
        own = {**without(body, "usage", "output", "status"), "usage": rest}
        items = objects(body.get("output"))
        parts = tuple(part for item in items for part in self._parts(item))
        return VendorSaid(parts, body.get("status"), usage, own=own)

    def _parts(self, item: Tree) -> Iterator[SaidPart]:
        kind = item.get("type")
        if kind == "message":
            opened = without(item, "content")
            for each in objects(item.get("content")):
                said, key = self.texts.get(str(each.get("type")), ("other", "text"))
                text = text_of(each.get(key))
                more = {"part": without(each, key) if said != "other" else each}
                yield SaidPart(said, text, more={**more, "item": opened})
        elif kind == "function_call":
            call = ToolCall(
                text_of(item.get("call_id")),
                text_of(item.get("name")),
                text_of(item.get("arguments")),
            )
            more = without(item, "call_id", "name", "arguments")
            yield SaidPart("call", call=call, more=more)
        elif kind == "reasoning":
            said = joined_texts(e.get("text") for e in objects(item.get("summary")))
            yield SaidPart("reasoning", said, more=item)
        else:
            yield SaidPart("other", more=item)

    def written(self, said: VendorSaid) -> dict[str, Any]:
        """Return the body that says it."""
        if said.error is not None:
            return _error_written(said, "type")
        own = dict(said.own)
        rest = own.pop("usage")
        output: list[dict[str, Any]] = []
        for part in said.parts:
            self._write(part, output)
        used = put_usage(said.usage, rest, self.usage)
        return {**own, "status": said.finish, "output": output, "usage": used}

    def _write(self, part: SaidPart, output: list[dict[str, Any]]) -> None:
        if part.call is not None:
            call = part.call
            told = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
            output.append({**part.more, **told})
        elif "item" not in part.more:
            output.append(dict(part.more))
        else:
            item = part.more["item"]
            if not output or output[-1].get("id") != item.get("id"):
                output.append({**item, "content": []})
            key = "refusal" if part.kind == "refusal" else "text"
            told = {} if part.kind == "other" else {key: part.text}
            output[-1]["content"].append({**part.more["part"], **told})


class AnthropicSaying:
    """Messages: blocks."""

    usage: Final[Paths] = {
        "input": ("input_tokens",),
        "output": ("output_tokens",),
        "cached": ("cache_read_input_tokens",),
    }

    def read(self, body: Tree) -> VendorSaid:
        """Return what a body says."""
        if is_mapping(body.get("error")):
            return _error_read(body, "type")
        usage, rest = taken_usage(body.get("usage"), self.usage)
        own = {**without(body, "usage", "content", "stop_reason"), "usage": rest}
        parts = tuple(map(self._part, objects(body.get("content"))))
        return VendorSaid(parts, body.get("stop_reason"), usage, own=own)

    def _part(self, block: Tree) -> SaidPart:
        kind = block.get("type")
        if kind == "text":
            return SaidPart("text", text_of(block["text"]), more=without(block, "text"))
        if kind == "thinking":
            more = without(block, "thinking")
            return SaidPart("reasoning", text_of(block.get("thinking")), more=more)
        if kind == "tool_use":
            given = as_text(block.get("input"))
            name = text_of(block.get("name"))
            call = ToolCall(text_of(block.get("id")), name, given)
            return SaidPart(
                "call", call=call, more=without(block, "id", "name", "input")
            )
        return SaidPart("other", more=block)

    def written(self, said: VendorSaid) -> dict[str, Any]:
        """Return the body that says it."""
        if said.error is not None:
            return _error_written(said, "type")
        own = dict(said.own)
        used = put_usage(said.usage, own.pop("usage"), self.usage)
        content = [self._block(each) for each in said.parts]
        return {**own, "content": content, "stop_reason": said.finish, "usage": used}

    def _block(self, part: SaidPart) -> dict[str, Any]:
        if part.call is not None:
            call = part.call
            told = {
                "id": call.id,
                "name": call.name,
                "input": as_object(call.arguments),
            }
            return {**part.more, **told}
        key = {"text": "text", "reasoning": "thinking"}.get(part.kind)
        return {**part.more, **({} if key is None else {key: part.text})}


class GeminiSaying:
    """generateContent: parts of the first candidate; others are kept."""

    usage: Final[Paths] = {
        "input": ("promptTokenCount",),
        "output": ("candidatesTokenCount",),
        "cached": ("cachedContentTokenCount",),
        "reasoning": ("thoughtsTokenCount",),
    }

    def read(self, body: Tree) -> VendorSaid:
        """Return what a body says."""
        if is_mapping(body.get("error")):
            return _error_read(body, "status")
        usage, rest = taken_usage(body.get("usageMetadata"), self.usage)
        candidates = objects(body.get("candidates"))
        first: Tree = candidates[0] if candidates else {}
        content: Tree = first.get("content") or {}
        own = {
            **without(body, "usageMetadata", "candidates"),
            "usage": rest,
            "candidate": without(first, "content", "finishReason"),
            "content": without(content, "parts"),
            "others": candidates[1:],
        }
        parts = tuple(map(self._part, objects(content.get("parts"))))
        return VendorSaid(parts, first.get("finishReason"), usage, own=own)

    def _part(self, part: Tree) -> SaidPart:
        call = part.get("functionCall")
        if is_mapping(call):
            name, given = text_of(call.get("name")), as_text(call.get("args"))
            made = ToolCall(text_of(call.get("id")), name, given)
            more = {"call": without(call, "name", "args"), **part}
            return SaidPart("call", call=made, more=without(more, "functionCall"))
        if isinstance(part.get("text"), str):
            kind: Kind = "reasoning" if part.get("thought") else "text"
            return SaidPart(kind, part["text"], more=without(part, "text"))
        return SaidPart("other", more=part)

    def written(self, said: VendorSaid) -> dict[str, Any]:
        """Return the body that says it."""
        if said.error is not None:
            return _error_written(said, "status")
        own = dict(said.own)
        content = {**own.pop("content"), "parts": list(map(self._written, said.parts))}
        first = {**own.pop("candidate"), "content": content}
        if said.finish is not None:
            first["finishReason"] = said.finish
        others, rest = own.pop("others"), own.pop("usage")
        used = put_usage(said.usage, rest, self.usage)
        return {**own, "candidates": [first, *others], "usageMetadata": used}

    def _written(self, part: SaidPart) -> dict[str, Any]:
        if part.call is not None:
            call = part.call
            told = {"name": call.name, "args": as_object(call.arguments)}
            more = without(part.more, "call")
            return {**more, "functionCall": {**part.more["call"], **told}}
        return {**part.more, **({} if part.kind == "other" else {"text": part.text})}


SAYINGS: Final[Mapping[str, Saying]] = {
    CHAT: ChatSaying(),
    RESPONSES: ResponsesSaying(),
    ANTHROPIC: AnthropicSaying(),
    GEMINI: GeminiSaying(),
}
"""How each interface says an answer, by its name."""
