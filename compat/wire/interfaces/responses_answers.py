"""Answers of a script as OpenAI's Responses: one object, or the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from compat.wire.interfaces.request import (
    SentBody,
    VendorRequest,
    answered,
    check_results,
    parts_of,
    thought_of,
    with_parts,
)
from compat.wire.interfaces.responses import (
    history_of,
    items_of,
    stored_id,
    thought_part,
)
from compat.wire.server.refusals import ApiError, missing
from compat.wire.server.sessions import ScriptedAnswer
from compat.wire.server.shapes import EPOCH, FINISH, PIECE, event, tokens
from refengine.messages import Json, Message
from refengine.testing.json_values import is_mapping

STOPPED: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Reasons for which an answer is not complete, by the reason of chat completions."""


@dataclass(frozen=True, slots=True)
class ResponsesAnswer:
    """An answer as a response."""

    said: ScriptedAnswer
    asked: VendorRequest
    body: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The id by which it is stored."""
        return f"resp_{self.said.call}"

    def whole(self) -> Mapping[str, Json]:
        """Return the body."""
        reason = STOPPED.get(str(self.said.message.extra.get(FINISH)))
        status = "completed" if reason is None else "incomplete"
        output = self._items()
        details = None if reason is None else {"reason": reason}
        return {**self._envelope(status, output), "incomplete_details": details}

    def _items(self) -> list[dict[str, Any]]:
        said = items_of(self.said.message, self.said.call, "completed")
        return [*self._thought(), *said]

    def _thought(self) -> Iterator[dict[str, Any]]:
        """Yield what the model thinks, where the request has it think."""
        thought = thought_of(self.said.message)
        asked = self.body.get("reasoning")
        if not thought or not is_mapping(asked):
            return
        item: dict[str, Any] = {
            "type": "reasoning",
            "id": f"rs_{self.said.call}",
            "summary": [],
        }
        if asked.get("summary"):
            item["summary"] = [{"type": "summary_text", "text": thought}]
        if "reasoning.encrypted_content" in (self.body.get("include") or ()):
            item["encrypted_content"] = f"sealed-{self.said.call}"
        yield item

    def stored(self) -> Message:
        """Return the answer as it is stored, its thought with it."""
        message = answered(self.said.message)
        thoughts: list[Json] = [thought_part(each) for each in self._thought()]
        return with_parts(message, [*thoughts, *parts_of(message)])

    def pieces(self) -> Iterator[bytes]:
        """Yield the events of the stream."""
        for number, each in enumerate(self._events()):
            yield event({**each, "sequence_number": number}, each["type"])

    def _envelope(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        used = sum(tokens(str(each)) for each in output)
        prompt = sum(tokens(each.content) for each in self.asked.messages)
        thinking = tokens(thought_of(self.said.message)) if output else 0
        usage = {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": used,
            "output_tokens_details": {"reasoning_tokens": thinking},
            "total_tokens": prompt + used,
        }
        body = self.body
        return {
            "id": self.id,
            "object": "response",
            "created_at": EPOCH + self.said.call,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "metadata": body.get("metadata") or {},
            "model": body.get("model"),
            "output": output,
            "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
            "previous_response_id": body.get("previous_response_id"),
            "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
            "service_tier": "default",
            "store": body.get("store") is not False,
            "temperature": body.get("temperature", 1.0),
            "text": body.get("text") or {"format": {"type": "text"}},
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": body.get("tools") or [],
            "top_p": body.get("top_p", 1.0),
            "truncation": "disabled",
            "usage": None if status == "in_progress" else usage,
            "user": body.get("user"),
        }

    def _events(self) -> Iterator[dict[str, Any]]:
        begun = self._envelope("in_progress", [])
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        ended = not (self.said.cut or self.said.error)
        whole = self.whole()
        for at, item in enumerate(self._items()):
            if item["type"] == "reasoning":
                yield from _thought(at, item)
                continue
            is_text = item["type"] == "message"
            yield from self._text(at, item) if is_text else _call(at, item)
            if not ended:
                break
        if self.said.error is not None:
            error = self.said.error
            inner = {"message": error.message, "code": error.code, "param": error.param}
            yield {"type": "error", **inner}
        elif ended:
            yield {"type": f"response.{whole['status']}", "response": whole}

    def _text(self, at: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
        (part,) = item["content"]
        key = "refusal" if part["type"] == "refusal" else "text"
        kind = "refusal" if key == "refusal" else "output_text"
        here = {"item_id": item["id"], "output_index": at, "content_index": 0}
        more: dict[str, Any] = {} if key == "refusal" else {"logprobs": []}
        opened: dict[str, Any] = {**item, "status": "in_progress", "content": []}
        yield {"type": "response.output_item.added", "output_index": at, "item": opened}
        empty = {**part, key: ""}
        yield {"type": "response.content_part.added", **here, "part": empty}
        texts = [each.content for each in self.said.chunks if each.content]
        for delta in [part[key]] if key == "refusal" else texts:
            yield {"type": f"response.{kind}.delta", **here, "delta": delta, **more}
        if self.said.cut or self.said.error:
            return
        yield {"type": f"response.{kind}.done", **here, key: part[key], **more}
        yield {"type": "response.content_part.done", **here, "part": part}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}


def _thought(at: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    here = {"item_id": item["id"], "output_index": at}
    opened: dict[str, Any] = {**item, "summary": []}
    kind = "response.reasoning_summary"
    yield {"type": "response.output_item.added", "output_index": at, "item": opened}
    for number, part in enumerate(item["summary"]):
        place = {**here, "summary_index": number}
        text = part["text"]
        yield {"type": f"{kind}_part.added", **place, "part": {**part, "text": ""}}
        yield {"type": f"{kind}_text.delta", **place, "delta": text}
        yield {"type": f"{kind}_text.done", **place, "text": text}
        yield {"type": f"{kind}_part.done", **place, "part": part}
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


def _call(at: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    here = {"item_id": item["id"], "output_index": at}
    opened = {**item, "status": "in_progress", "arguments": ""}
    kind = "response.function_call_arguments"
    text = item["arguments"]
    yield {"type": "response.output_item.added", "output_index": at, "item": opened}
    for start in range(0, len(text), PIECE):
        yield {"type": f"{kind}.delta", **here, "delta": text[start : start + PIECE]}
    yield {"type": f"{kind}.done", **here, "name": item["name"], "arguments": text}
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


def check_responses(sent: SentBody, asked: VendorRequest) -> None:
    """Refuse what OpenAI refuses; raises ApiError."""
    if not sent.body.get("model"):
        raise missing("model")
    if "not_stored" in asked.own:
        text = f"Previous response with id '{stored_id(sent.body)}' not found."
        raise ApiError(
            text, param="previous_response_id", code="previous_response_not_found"
        )
    check_results(asked.messages)


def responses_answer(
    sent: SentBody, asked: VendorRequest, said: ScriptedAnswer
) -> ResponsesAnswer:
    """Return an answer as a response, and store it unless that is forbidden."""
    body, kept = sent.body, sent.kept
    answer = ResponsesAnswer(said, asked, body)
    if not (said.cut or said.error):
        stored = (*history_of(body, kept), answer.stored())
        if body.get("store") is not False:
            kept[answer.id] = stored
        if body.get("conversation"):
            kept[stored_id(body) or ""] = stored
    return answer
