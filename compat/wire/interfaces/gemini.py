"""Gemini's generateContent: canonical requests, and a script's answers to them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from compat.wire.interfaces.recorded import (
    AnswerReader,
    SaidPart,
    message_of,
    text_of,
)
from compat.wire.interfaces.request import (
    SAID,
    THOUGHTS,
    USUAL,
    SentBody,
    Tree,
    VendorRequest,
    VendorTool,
    called,
    check_results,
    listed,
    object_in,
    object_of,
    rest_of,
    settings_of,
    settled,
    spoken,
    thought_of,
    without_thoughts,
)
from compat.wire.server.refusals import ApiError, missing
from compat.wire.server.sessions import ScriptedAnswer
from compat.wire.server.shapes import FINISH, encoded, tokens
from refengine.messages import Json, Message, ToolCall, ToolCallChunk
from refengine.testing.json_values import is_list, is_mapping, thawed

GEMINI: Final = "Gemini generateContent"
STREAMED: Final = ":streamGenerateContent"
SETTINGS: Final[Mapping[str, str]] = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "maxOutputTokens": "max_tokens",
    "stopSequences": "stop",
    "seed": "seed",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}
_FORMAT: Final = ("responseMimeType", "responseSchema", "responseJsonSchema")
CHOICES: Final = {"AUTO": "auto", "ANY": "required", "NONE": "none"}
STOPPED: Final = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
STATUSES: Final[Mapping[int, str]] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
_TAKEN: Final = frozenset(
    ("contents", "systemInstruction", "tools", "toolConfig", "generationConfig")
)
SIGNATURES: Final = "signatures"
"""Key among what is Gemini's own: of thoughts, by the number of their message."""
RESULTS: Final = ("result", "output", "error")
"""Keys under which a result of a tool is a plain text."""


def gemini_request(body: Tree, path: str) -> VendorRequest:
    """Read the body of a request; the model, and whether to stream, is in the path."""
    body = _camel(body)
    given = object_of(body, "generationConfig")
    settings = settings_of(given, SETTINGS)
    settings["model"] = path.rpartition("/")[2].partition(":")[0]
    settings["stream"] = path.endswith(STREAMED)
    settings["response_format"] = _format(given)
    config = object_of(object_of(body, "toolConfig"), "functionCallingConfig")
    settings["tool_choice"] = _choice(config)
    own = rest_of(body, _TAKEN)
    if config and config != calling_of(settings["tool_choice"]):
        own["functionCallingConfig"] = dict(config)
    if rest := rest_of(given, (*SETTINGS, *_FORMAT)):
        own["generationConfig"] = rest
    said = object_of(body, "systemInstruction")
    system = [Message("system", _text(said))] if said else []
    found = (*system, *_messages(listed(body, "contents")))
    messages, thoughts = without_thoughts(found, lambda p: p.get("thought") is True)
    if thoughts:
        own[THOUGHTS] = thoughts
    if signatures := _signatures(messages):
        own[SIGNATURES] = signatures
    return VendorRequest(
        GEMINI,
        tuple(map(_unsigned, messages)),
        tuple(_tools(listed(body, "tools"))),
        settled(settings, USUAL),
        own,
    )


_USERS: Final = frozenset(
    (
        "args",
        "response",
        "parameters",
        "parametersJsonSchema",
        "responseSchema",
        "responseJsonSchema",
    )
)
"""Keys below which names are the user's own."""


def _camel(tree: Tree) -> Tree:
    """Return an object with keys as Gemini's pages have them; it takes others, too."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        first, *rest = key.split("_")
        name = first + "".join(part.capitalize() for part in rest)
        if name in _USERS:
            found[name] = value
        elif is_mapping(value):
            found[name] = _camel(value)
        elif is_list(value):
            found[name] = [_camel(e) if is_mapping(e) else e for e in value]
        else:
            found[name] = value
    return found


def _text(content: Tree) -> str:
    return "".join(str(part.get("text", "")) for part in listed(content, "parts"))


def _messages(contents: Sequence[Tree]) -> Iterator[Message]:
    """Yield messages; a call or result without an id is known by its place."""
    waiting: list[ToolCall] = []
    for number, content in enumerate(contents):
        parts = listed(content, "parts")
        if content.get("role") == "model":
            calls = [each for p in parts if (each := object_of(p, "functionCall"))]
            waiting = [
                called(
                    each.get("id") or f"call-{number}-{at}",
                    each.get("name"),
                    object_of(each, "args"),
                )
                for at, each in enumerate(calls)
            ]
            rest = [each for each in parts if "functionCall" not in each]
            yield _signed(_said("assistant", rest, tuple(waiting)), parts)
            continue
        results = [part for part in parts if "functionResponse" in part]
        for part in results:
            yield _result(object_of(part, "functionResponse"), waiting)
        rest = [part for part in parts if "functionResponse" not in part]
        if rest or not results:
            yield _said("user", rest, ())


def _said(role: Any, parts: Sequence[Tree], calls: tuple[ToolCall, ...]) -> Message:  # noqa: ANN401  # a Role
    typed = [{"type": _kind(part), **part} for part in parts]
    return spoken(role, typed, {"text": "text"}, tool_calls=calls)


def _kind(part: Tree) -> str:
    if part.get("thought"):
        return "thought"
    return "text" if isinstance(part.get("text"), str) else "part"


def _signed(message: Message, parts: Sequence[Tree]) -> Message:
    """Return a message with the signatures of thoughts, which have to be sent back."""
    found = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
    if not found:
        return message
    return replace(message, extra={**message.extra, SIGNATURES: found})


def _signatures(messages: Sequence[Message]) -> dict[str, Json]:
    """Return the signatures of messages by the number of each."""
    return {
        str(number): thawed(each.extra[SIGNATURES])
        for number, each in enumerate(messages)
        if SIGNATURES in each.extra
    }


def _unsigned(message: Message) -> Message:
    extra = {k: each for k, each in message.extra.items() if k != SIGNATURES}
    return replace(message, extra=extra)


def _result(given: Tree, waiting: list[ToolCall]) -> Message:
    fits = (c for c in waiting if c.name == given.get("name"))
    call = next(fits, None) if not given.get("id") else None
    if call is not None:
        waiting.remove(call)
    of = given.get("id") or (call.id if call else "")
    response = given.get("response")
    if is_mapping(response) and len(response) == 1:
        ((key, value),) = response.items()
        if key in RESULTS and isinstance(value, str):
            return Message("tool", value, tool_call_id=str(of))
    text = json.dumps(response, sort_keys=True, ensure_ascii=False)
    return Message("tool", text, tool_call_id=str(of))


def _tools(groups: Sequence[Tree]) -> Iterator[VendorTool]:
    for group in groups:
        for each in listed(group, "functionDeclarations"):
            schema = each.get("parametersJsonSchema", each.get("parameters"))
            yield VendorTool(
                str(each.get("name", "")),
                str(each.get("description") or ""),
                _lowered(schema) if is_mapping(schema) else {},
                more=rest_of(each, (*SAID, "parametersJsonSchema")),
            )
        for key in group:
            if key != "functionDeclarations":
                yield VendorTool(key, more=object_of(group, key))


def _lowered(schema: Tree) -> dict[str, Any]:
    """Return a schema with types as JSON schema writes them, not in capitals."""
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            found[key] = value.lower()
        elif is_mapping(value):
            found[key] = _lowered(value)
        elif is_list(value):
            found[key] = [_lowered(e) if is_mapping(e) else e for e in value]
        else:
            found[key] = value
    return found


def _choice(config: Tree) -> Json:
    names = config.get("allowedFunctionNames")
    if is_list(names) and len(names) == 1:
        return {"name": str(names[0])}
    return CHOICES.get(str(config.get("mode")))


def calling_of(choice: Json) -> Tree:
    """Return all that a request says of calls where that is a choice we have."""
    if is_mapping(choice):
        return {"mode": "ANY", "allowedFunctionNames": [choice["name"]]}
    modes = {ours: theirs for theirs, ours in CHOICES.items()}
    return {"mode": modes.get(str(choice))}


def _format(given: Tree) -> Json:
    kind = given.get("responseMimeType")
    if kind is None or kind == "text/plain":
        return None
    schema = given.get("responseJsonSchema", given.get("responseSchema"))
    if not is_mapping(schema):
        return {"type": "json_object"}
    return {"type": "json_schema", "schema": _lowered(schema)}


def gemini_said(body: Tree, place: int, calls: int = 0) -> Message:
    """Return what the first candidate of an answer says.

    Calls are known by their places, since most have no ids: ``place`` is that of the
    answer among the contents, and so many ``calls`` were told of it before.
    """
    number = count(calls)
    first = _first(body)
    return message_of(
        _part(each, place, number)
        for each in listed(object_of(first, "content"), "parts")
    )


def _first(body: Tree) -> Tree:
    candidates = listed(body, "candidates")
    return candidates[0] if candidates else {}


def _part(part: Tree, place: int, number: Iterator[int]) -> SaidPart:
    call = part.get("functionCall")
    if is_mapping(call):
        given = json.dumps(call.get("args"), ensure_ascii=False)
        id_ = f"call-{place}-{next(number)}"
        return ToolCall(id_, text_of(call.get("name")), given)
    return "reasoning" if part.get("thought") else "text", text_of(part.get("text"))


class GeminiStream(AnswerReader):
    """Reads a stream of an answer at a place among the contents."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self._place = place
        self._calls = 0

    def event(self, tree: Tree) -> None:
        """Take an event in, which has whole calls."""
        first = _first(tree)
        self.ended |= "finishReason" in first
        said = gemini_said(tree, self._place, self._calls)
        pieces = [
            ToolCallChunk(at, each.id, each.name, each.arguments)
            for at, each in enumerate(said.tool_calls, self._calls)
        ]
        self._calls += len(pieces)
        if said.content or pieces:
            self.say(said.content, *pieces)


@dataclass(frozen=True, slots=True)
class GeminiAnswer:
    """An answer as Gemini's."""

    said: ScriptedAnswer
    asked: VendorRequest

    def whole(self) -> Mapping[str, Json]:
        """Return the body."""
        return self._body(self._parts(), self._finish())

    def pieces(self) -> Iterator[bytes]:
        """Yield the events of the stream; the last one has the reason of the end."""
        texts = [each.content for each in self.said.chunks if each.content]
        made = self._parts()
        said = [part for part in made if {"thought", "functionCall"} & {*part}]
        calls = [part for part in said if "functionCall" in part]
        parts: list[dict[str, Any]] = [
            *(part for part in said if "thought" in part),
            *({"text": each} for each in texts),
            *calls,
        ]
        broken = self.said.cut or self.said.error is not None
        parts = parts or [{"text": str(self.said.message.extra.get("refusal", ""))}]
        for at, part in enumerate(parts):
            ended = at + 1 == len(parts) and not broken
            yield _event(self._body([part], self._finish() if ended else None))
        if self.said.error is not None:
            yield _event(error_of(self.said.error))

    def _parts(self) -> list[dict[str, Any]]:
        message = self.said.message
        text = message.content or str(message.extra.get("refusal", ""))
        found: list[dict[str, Any]] = [{"text": text}] if text else []
        found += [
            {
                "functionCall": {
                    "id": c.id,
                    "name": c.name,
                    "args": object_in(c.arguments),
                }
            }
            for c in message.tool_calls
        ]
        return [*self._thought(), *self._signed(found)]

    def _thinking(self) -> Tree:
        """Return how the model is to think, nothing where it says none of it."""
        config = self.asked.own.get("generationConfig")
        inner = config.get("thinkingConfig") if is_mapping(config) else None
        thinks = is_mapping(inner) and thought_of(self.said.message)
        return inner if thinks and is_mapping(inner) else {}

    def _thought(self) -> list[dict[str, Any]]:
        if self._thinking().get("includeThoughts") is not True:
            return []
        return [{"text": thought_of(self.said.message), "thought": True}]

    def _signed(self, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return parts of which the first call is signed; it has to come back so."""
        at = next((at for at, p in enumerate(parts) if "functionCall" in p), None)
        if at is not None and self._thinking():
            seal = base64.b64encode(f"signature {self.said.call}".encode()).decode()
            parts[at] = {**parts[at], "thoughtSignature": seal}
        return parts

    def _finish(self) -> str:
        extra = self.said.message.extra
        usual = "SAFETY" if extra.get("refusal") else "STOP"
        return STOPPED.get(str(extra.get(FINISH)), usual)

    def _body(self, parts: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
        prompt = sum(tokens(each.content) for each in self.asked.messages)
        used = tokens(self.said.message.content)
        content = {"role": "model", "parts": parts}
        ended = {} if finish is None else {"finishReason": finish}
        return {
            "candidates": [{"content": content, "index": 0, **ended}],
            "usageMetadata": {
                "promptTokenCount": prompt,
                "candidatesTokenCount": used,
                "totalTokenCount": prompt + used,
            },
            "modelVersion": self.asked.settings.get("model"),
            "responseId": f"response-{self.said.call}",
        }


def _event(body: object) -> bytes:
    return b"data: " + encoded(body) + b"\r\n\r\n"


def error_of(error: ApiError) -> Mapping[str, Json]:
    """Return the body of an error."""
    status = error.kind.status
    named = STATUSES.get(status, "INTERNAL")
    return {"error": {"code": status, "message": error.message, "status": named}}


def check_gemini(sent: SentBody, asked: VendorRequest) -> None:
    """Refuse what Gemini refuses; raises ApiError."""
    if not sent.body.get("contents"):
        raise missing("contents")
    check_results(asked.messages)


def gemini_failed(error: ApiError) -> tuple[int, Mapping[str, Json]]:
    """Return status and body of an error."""
    return error.kind.status, error_of(error)
