"""Recorded exchanges: which API each speaks, and the steps of those that are read.

Chat completions are spoken by many vendors, under other addresses as well: a request
with messages whose answer has choices is one of them. What is stored at a vendor is put
in where a request goes on with it, as far as the same file recorded it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from compat.models.chat_answers import answer_of, stream_of
from compat.models.chat_logs import chat_messages
from compat.models.chat_requests import LeftOut, RecordedRequest, body_of, request_of
from compat.models.errors import RequestError, ShapeError
from compat.wire.exchanges import Exchange, Request, Response, is_address
from compat.wire.interfaces.anthropic import ANTHROPIC, AnthropicStream, anthropic_said
from compat.wire.interfaces.chat import CHAT
from compat.wire.interfaces.gemini import (
    GEMINI,
    GeminiStream,
    gemini_request,
    gemini_said,
)
from compat.wire.interfaces.recorded import AnswerReader, RecordedAnswer, is_streamed
from compat.wire.interfaces.request import answered, objects
from compat.wire.interfaces.responses import (
    RESPONSES,
    ResponsesStream,
    history_of,
    responses_request,
    responses_said,
    stored_id,
)
from compat.wire.sse import ServerSentEvent, events_of
from refengine.messages import Message
from refengine.testing.json_values import is_list, is_mapping

OTHER: Final = "no API of a model"
_PATHS: Final = (
    (CHAT, r"/chat/completions"),
    (RESPONSES, r"/responses(/.*)?"),
    (ANTHROPIC, r"/messages(/count_tokens)?|:(stream)?[rR]awPredict"),
    (GEMINI, r":(stream)?[gG]enerateContent"),
    ("Bedrock Converse", r"/converse(-stream)?"),
    ("Bedrock InvokeModel", r"/invoke(-with-response-stream)?"),
    ("Ollama", r"/api/(chat|generate)"),
    ("OpenAI completions", r"/completions"),
    ("embeddings", r"/(embed|embeddings)|:(batchE|e)mbedContents?"),
)
_ENDS: Final = tuple((api, re.compile(f"(?:{ends})$")) for api, ends in _PATHS)
_BODIES: Final = (("contents", GEMINI), ("messages", ANTHROPIC), ("input", RESPONSES))
"""Which field of a request tells the API, if nothing else does."""
_COHERE: Final = re.compile(r"(^|\.)cohere\.(com|ai)$")
_CALLS: Final = (
    "functionCall",
    "functionResponse",
    "function_call",
    "function_response",
)


def api_of(exchange: Exchange) -> str:
    """Return the API by name; OTHER for what asks no model.

    Where a recorder redacted the address, what was sent says it.
    """
    if exchange.request.method != "POST":
        return OTHER
    if not is_address(exchange.request.url):
        return _api_of_body(exchange)
    address = urlsplit(exchange.request.url)
    path = address.path.rstrip("/")
    if _COHERE.search(address.hostname or "") and path.endswith("/chat"):
        return "Cohere chat"
    for api, ends in _ENDS:
        if ends.search(path):
            return api
    return CHAT if _has_messages(exchange) and _has_choices(exchange) else OTHER


def _api_of_body(exchange: Exchange) -> str:
    if _has_choices(exchange):
        return CHAT if _has_messages(exchange) else OTHER
    if _field(exchange.response.body, "data") is not None:
        return OTHER  # embeddings, whose request has an input as well
    sent = exchange.request.body
    named = (api for key, api in _BODIES if _field(sent, key) is not None)
    return next(named, OTHER)


def _has_messages(exchange: Exchange) -> bool:
    return is_list(_field(exchange.request.body, "messages"))


def _has_choices(exchange: Exchange) -> bool:
    body = exchange.response.body
    if not is_streamed(exchange.response):
        return is_list(_field(body, "choices"))
    events, _ = events_of([body])
    return any(is_list(_field(each.data.encode(), "choices")) for each in events)


def _field(body: bytes, key: str) -> object:
    tree = _tree(body)
    return tree.get(key) if is_mapping(tree) else None


def _tree(body: bytes) -> object:
    try:
        return json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One exchange: its number in the file, from 1, what was asked and answered."""

    number: int
    request: RecordedRequest
    answer: RecordedAnswer


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """All of a file: its steps, what they do not carry, and what speaks other APIs."""

    steps: tuple[RecordedStep, ...]
    left: Mapping[str, int]
    later: Mapping[str, int]


def read_exchanges(exchanges: Sequence[Exchange], file: str) -> RecordedFile:
    """Read every exchange of chat completions; raises RequestError."""
    reader = ExchangeReader(file)
    steps: list[RecordedStep] = []
    later: Counter[str] = Counter()
    for number, exchange in enumerate(exchanges, 1):
        api = api_of(exchange)
        if api == CHAT:
            steps.append(reader.read(exchange, api, number))
        else:
            later[api] += 1
    found = dict(sorted(reader.left.found.items()))
    return RecordedFile(tuple(steps), found, dict(sorted(later.items())))


def read_response(response: Response, left: LeftOut) -> RecordedAnswer:
    """Read an answer of chat completions; whatever it is, it is one."""
    if is_streamed(response) and response.status < 300:
        return stream_of(response.body, left)
    return answer_of(response.status, response.body, left)


@dataclass(slots=True)
class ExchangeReader:
    """Reads the exchanges of one file in their order; it keeps what a vendor stores.

    What of chat completions is not carried is counted in ``left``.
    """

    file: str
    left: LeftOut = field(default_factory=LeftOut)
    _kept: dict[str, Any] = field(default_factory=dict[str, Any])

    def read(self, exchange: Exchange, api: str, number: int) -> RecordedStep:
        """Read one exchange of an API that is ``READ``; raises RequestError."""
        sent, response = exchange.request, exchange.response
        try:
            if api == CHAT:
                request = request_of(sent.body, self.left)
                return RecordedStep(number, request, read_response(response, self.left))
            body = body_of(sent.body)
            asked = self._asked(api, body, sent)
        except ShapeError as error:
            raise RequestError(self.file, number, str(error)) from error
        answer = _answer(response, api, len(body.get("contents") or ()))
        if api == RESPONSES:
            self._keep(body, response, answer)
        return RecordedStep(number, asked, answer)

    def _asked(
        self, api: str, body: Mapping[str, Any], sent: Request
    ) -> RecordedRequest:
        if api == ANTHROPIC:
            return _anthropic(body)
        if api == GEMINI:
            found = gemini_request(_without_ids(body), urlsplit(sent.url).path)
        else:
            found = responses_request(body, self._kept)
        if "not_stored" in found.own:
            raise ShapeError(
                "request", "goes on with a response that is not in the file"
            )
        # A group of tools that run at the vendor's is none of the agent's.
        own = (each.name for each in found.tools if each.parameters or each.description)
        return RecordedRequest(found.messages, _once(own), found.streams)

    def _keep(
        self, body: Mapping[str, Any], response: Response, answer: RecordedAnswer
    ) -> None:
        """Store a response under its id, and in the conversation that it goes on."""
        said = answer.whole
        if said is None:
            return
        history = (*history_of(body, self._kept), answered(said))
        for id_ in _ids(response):
            self._kept[id_] = history
        if body.get("conversation"):
            self._kept[stored_id(body) or ""] = history


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _anthropic(body: Mapping[str, Any]) -> RecordedRequest:
    if not is_list(body.get("messages")):
        raise ShapeError("request", "has no list of messages")
    messages = chat_messages(body["messages"], body.get("system"))
    # Those of a type run at the vendor's, and the agent has none of them.
    names = (
        str(each["name"])
        for each in objects(body.get("tools"))
        if each.get("type", "custom") == "custom" and "name" in each
    )
    return RecordedRequest(tuple(messages), _once(names), body.get("stream") is True)


def _without_ids(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request whose calls and results are known by their places.

    Gemini's calls mostly have no ids, and clients make some up to send them back.
    """
    found: dict[str, Any] = json.loads(
        json.dumps(body),
        object_hook=lambda tree: {
            key: _bare(each) if key in _CALLS else each for key, each in tree.items()
        },
    )
    return found


def _bare(call: object) -> object:
    return {k: v for k, v in call.items() if k != "id"} if is_mapping(call) else call


def _ids(response: Response) -> Iterator[str]:
    """Yield the id of a response, which each event that has it whole tells."""
    for event in _events(response):
        with suppress(ValueError, RecursionError):
            tree = json.loads(event.data)
            told = tree.get("response", tree) if is_mapping(tree) else tree
            if is_mapping(told) and isinstance(told.get("id"), str):
                yield told["id"]


def _events(response: Response) -> list[ServerSentEvent]:
    """Return the events of an answer; one in one piece is one, or an array of them."""
    if is_streamed(response):
        return events_of([response.body])[0]
    tree = _tree(response.body)
    trees = tree if is_list(tree) else [tree]
    return [ServerSentEvent(json.dumps(each)) for each in trees]


def _answer(response: Response, api: str, place: int) -> RecordedAnswer:
    """Read an answer; ``place`` is where it will stand among the contents of Gemini."""
    status, body = response.status, response.body
    tree = _tree(body)
    if is_list(tree) and len(tree) == 1:
        tree = tree[0]
    if status < 300 and (is_streamed(response) or is_list(tree)):
        return _STREAMS[api](place).read(_events(response))
    fails = status >= 300 or not is_mapping(tree) or tree.get("error")
    said = None if fails or not is_mapping(tree) else _SAID[api](tree, place)
    return answer_of(status, body, LeftOut()) if said is None else RecordedAnswer(said)


_STREAMS: Final[Mapping[str, Callable[[int], AnswerReader]]] = {
    RESPONSES: lambda _: ResponsesStream(),
    ANTHROPIC: lambda _: AnthropicStream(),
    GEMINI: GeminiStream,
}
_SAID: Final[Mapping[str, Callable[[Mapping[str, Any], int], Message | None]]] = {
    RESPONSES: lambda tree, _: responses_said(tree),
    ANTHROPIC: lambda tree, _: anthropic_said(tree),
    GEMINI: gemini_said,
}
READ: Final = (CHAT, ANTHROPIC, RESPONSES, GEMINI)
"""The APIs whose exchanges become steps."""
