"""The shapes of OpenAI's chat completions: one object, or the events of a stream.

Nothing in them is left to chance: ids and times are counted, and usage is estimated
from lengths, so that the same requests get the same bytes every time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from compat.wire.interfaces.chat import chat_call
from compat.wire.server.sessions import ScriptedAnswer
from refengine.messages import Json, Message, MessageChunk, ToolCallChunk
from refengine.testing.json_values import thawed

PIECE: Final = 5
"""Arguments of a whole call are streamed in pieces of so many characters."""


class StreamedCalls:
    """Counts the calls of one stream.

    A whole call of a script is cut as OpenAI cuts it. Pieces that a script itself has,
    with an index, are sent as they are; their index is only counted anew.
    """

    def __init__(self) -> None:
        self._opened = 0
        self._indexes: dict[int, int] = {}

    def shown(self, piece: ToolCallChunk) -> Iterator[dict[str, Json]]:
        """Yield what is sent for one piece."""
        if piece.index is None:
            yield from self._whole(piece)
        elif piece.index in self._indexes:
            yield _piece(self._indexes[piece.index], piece)
        else:
            index = self._indexes[piece.index] = self._next()
            yield _piece(index, piece) | {"type": "function"}

    def _whole(self, call: ToolCallChunk) -> Iterator[dict[str, Json]]:
        index = self._next()
        function: Json = {"name": call.name, "arguments": ""}
        opening: dict[str, Json] = {"index": index, "id": call.id}
        yield opening | {"type": "function", "function": function}
        for at in range(0, len(call.arguments), PIECE):
            yield _piece(
                index, ToolCallChunk(arguments=call.arguments[at : at + PIECE])
            )

    def _next(self) -> int:
        self._opened += 1
        return self._opened - 1


def _piece(index: int, piece: ToolCallChunk) -> dict[str, Json]:
    """Return a piece without what it does not bring."""
    named: dict[str, Json] = {"name": piece.name} if piece.name else {}
    shown: dict[str, Json] = {"index": index}
    shown |= {"id": piece.id} if piece.id else {}
    return shown | {"function": {**named, "arguments": piece.arguments}}


EPOCH: Final = 1_700_000_000
"""The first answer of a session was created one second later, the next ones follow."""
FINGERPRINT: Final = "fp_scripted"
FINISH: Final = "finish_reason"
"""Stands in the ``extra`` of an answer that ends for another reason than usual."""
PER_TOKEN: Final = 4
"""Characters that usage counts as a token, the last one begun."""
DONE: Final = b"data: [DONE]\n\n"
_LONE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What of a request its answer repeats or depends on."""

    session: str
    model: str
    prompt: int
    stream: bool = False
    include_usage: bool = False


def chat_options(session: str, body: Mapping[str, Any]) -> ChatOptions:
    """Return what a request, which was checked, says of its answer."""
    given: Mapping[str, Any] = body.get("stream_options") or {}
    return ChatOptions(
        session,
        body["model"],
        prompt_tokens(body["messages"]),
        stream=bool(body.get("stream")),
        include_usage=bool(given.get("include_usage")),
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer on its way to a client."""

    answer: ScriptedAnswer
    options: ChatOptions

    def whole(self) -> dict[str, Json]:
        """Return the answer as one object."""
        choice: dict[str, Json] = {
            "index": 0,
            "message": self._message(),
            "logprobs": None,
            "finish_reason": self._finish(),
        }
        body = self._envelope("chat.completion", [choice])
        return body | {"usage": self._usage()}

    def events(self) -> Iterator[dict[str, Json]]:
        """Yield the chunks of the stream, without its end mark."""
        opening = "" if self._content() is not None else None
        yield self._event({"role": "assistant", "content": opening, "refusal": None})
        calls = StreamedCalls()
        for chunk in self.answer.chunks:
            for delta in _deltas(chunk, calls):
                yield self._event(delta)
        if self.answer.error is not None:
            yield self.answer.error.body
        if self.answer.cut or self.answer.error is not None:
            return
        yield self._event({}, self._finish())
        if self.options.include_usage:
            body = self._envelope("chat.completion.chunk", [])
            yield body | {"usage": self._usage()}

    def pieces(self) -> Iterator[bytes]:
        """Yield the events of the stream as they are sent, its end mark with them."""
        yield from map(event, self.events())
        if not (self.answer.cut or self.answer.error):
            yield DONE

    def _envelope(self, kind: str, choices: Sequence[Json]) -> dict[str, Json]:
        call = self.answer.call
        return {
            "id": self.answer.message.id or f"chatcmpl-{self.options.session}-{call}",
            "object": kind,
            "created": EPOCH + call,
            "model": self.options.model,
            "choices": choices,
            "service_tier": "default",
            "system_fingerprint": FINGERPRINT,
        }

    def _message(self) -> dict[str, Json]:
        message = self.answer.message
        found: dict[str, Json] = {
            "role": "assistant",
            "content": self._content(),
            "refusal": None,
            "annotations": [],
            **_extras(message),
        }
        if message.tool_calls:
            found["tool_calls"] = [
                chat_call(each.id, each.name, each.arguments)
                for each in message.tool_calls
            ]
        return found

    def _content(self) -> str | None:
        """Return the text: null if there is none and something else in its place."""
        message = self.answer.message
        instead = message.tool_calls or message.extra.get("refusal")
        return None if instead and not message.content else message.content

    def _finish(self) -> Json:
        message = self.answer.message
        usual = "tool_calls" if message.tool_calls else "stop"
        return message.extra.get(FINISH, usual)

    def _event(self, delta: Mapping[str, Json], finish: Json = None) -> dict[str, Json]:
        choice: dict[str, Json] = {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": finish,
        }
        body = self._envelope("chat.completion.chunk", [choice])
        return body | {"usage": None} if self.options.include_usage else body

    def _usage(self) -> dict[str, Json]:
        answer = self.answer.message
        said = [answer.content, str(answer.extra.get("refusal", ""))]
        said += [call.name + call.arguments for call in answer.tool_calls]
        completion = sum(map(tokens, said))
        return {
            "prompt_tokens": self.options.prompt,
            "completion_tokens": completion,
            "total_tokens": self.options.prompt + completion,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 0,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


def tokens(text: str) -> int:
    """Return an estimate of how many tokens a text is."""
    return -(-len(text) // PER_TOKEN)


def prompt_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return an estimate of how many tokens the messages of a request are."""
    return sum(tokens(text) for message in messages for text in _texts(message))


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content") or ""
    parts = [{"text": content}] if isinstance(content, str) else content
    yield from (str(part.get("text", "")) for part in parts)
    for call in message.get("tool_calls") or ():
        inner = call.get("function") or call["custom"]
        yield inner["name"] + inner.get("arguments", inner.get("input", ""))


def encoded(body: object) -> bytes:
    """Return JSON as UTF-8; a lone surrogate, which UTF-8 cannot hold, is escaped."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def event(body: object, kind: object = None) -> bytes:
    """Return one event of a stream, named if it is of a kind."""
    named = b"" if kind is None else f"event: {kind}\n".encode()
    return named + b"data: " + encoded(body) + b"\n\n"


def models(names: Sequence[str]) -> dict[str, Json]:
    """Return the list of models."""
    return {"object": "list", "data": [model(name) for name in names]}


def model(name: str) -> dict[str, Json]:
    """Return one model of the list."""
    return {"id": name, "object": "model", "created": EPOCH, "owned_by": "scenario"}


def _extras(part: Message | MessageChunk) -> dict[str, Json]:
    """Return what stands beside the text: a refusal, a vendor's reasoning."""
    kept = {key: each for key, each in part.extra.items() if key != FINISH}
    return cast("dict[str, Json]", thawed(kept))


def _deltas(chunk: MessageChunk, calls: StreamedCalls) -> Iterator[Mapping[str, Json]]:
    """Yield what one piece of the answer adds, an event each."""
    extras = _extras(chunk)
    if chunk.content or not (chunk.tool_calls or extras):
        yield {"content": chunk.content}
    if extras:
        yield extras
    for piece in chunk.tool_calls:
        for shown in calls.shown(piece):
            yield {"tool_calls": [shown]}
