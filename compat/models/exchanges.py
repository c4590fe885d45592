"""Recorded exchanges: which API each speaks, and the steps of chat completions.

Chat completions are spoken by many vendors, under other addresses as well: a request
with messages whose answer has choices is one of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from compat.models.chat_answers import RecordedAnswer, answer_of, stream_of
from compat.models.chat_parts import LeftOut
from compat.models.chat_requests import RecordedRequest, request_of
from compat.models.errors import RequestError, ShapeError
from compat.models.sse import events_of
from compat.wire.exchanges import Exchange, Response, first
from refengine.testing.json_values import is_list, is_mapping

CHAT: Final = "OpenAI chat completions"
OTHER: Final = "no API of a model"
_PATHS: Final = (
    (CHAT, r"/chat/completions"),
    ("OpenAI Responses", r"/responses(/.*)?"),
    ("Anthropic Messages", r"/messages(/count_tokens)?|:(stream)?[rR]awPredict"),
    ("Gemini generateContent", r":(stream)?[gG]enerateContent"),
    ("Bedrock Converse", r"/converse(-stream)?"),
    ("Bedrock InvokeModel", r"/invoke(-with-response-stream)?"),
    ("Ollama", r"/api/(chat|generate)"),
    ("OpenAI completions", r"/completions"),
    ("embeddings", r"/(embed|embeddings)|:(batchE|e)mbedContents?"),
)
_ENDS: Final = tuple((api, re.compile(f"(?:{ends})$")) for api, ends in _PATHS)
_COHERE: Final = re.compile(r"(^|\.)cohere\.(com|ai)$")
_STREAM: Final = (b"data:", b"event:", b"id:", b"retry:", b":")


def api_of(exchange: Exchange) -> str:
    """Return the API by name; OTHER for what asks no model."""
    if exchange.request.method != "POST":
        return OTHER
    address = urlsplit(exchange.request.url)
    path = address.path.rstrip("/")
    if _COHERE.search(address.hostname or "") and path.endswith("/chat"):
        return "Cohere chat"
    for api, ends in _ENDS:
        if ends.search(path):
            return api
    return CHAT if _has_messages(exchange) and _has_choices(exchange) else OTHER


def is_streamed(response: Response) -> bool:
    """Tell whether the body is a stream of events, whatever its header says."""
    body = response.body.lstrip(b"\xef\xbb\xbf \r\n\t")
    if body.startswith(_STREAM):
        return True
    streams = "event-stream" in first(response.headers, "content-type")
    return streams and not body.startswith(b"{")


def _has_messages(exchange: Exchange) -> bool:
    return is_list(_field(exchange.request.body, "messages"))


def _has_choices(exchange: Exchange) -> bool:
    body = exchange.response.body
    if not is_streamed(exchange.response):
        return is_list(_field(body, "choices"))
    events, _ = events_of([body])
    return any(is_list(_field(each.data.encode(), "choices")) for each in events)


def _field(body: bytes, key: str) -> object:
    try:
        tree = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return tree.get(key) if is_mapping(tree) else None


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
    left = LeftOut()
    steps: list[RecordedStep] = []
    later: dict[str, int] = {}
    for number, exchange in enumerate(exchanges, 1):
        api = api_of(exchange)
        if api == CHAT:
            steps.append(read_exchange(exchange, file, number, left))
        else:
            later[api] = later.get(api, 0) + 1
    found = dict(sorted(left.found.items()))
    return RecordedFile(tuple(steps), found, dict(sorted(later.items())))


def read_exchange(
    exchange: Exchange, file: str, number: int, left: LeftOut
) -> RecordedStep:
    """Read one exchange of chat completions; raises RequestError."""
    try:
        request = request_of(exchange.request.body, left)
    except ShapeError as error:
        raise RequestError(file, number, str(error)) from error
    return RecordedStep(number, request, read_response(exchange.response, left))


def read_response(response: Response, left: LeftOut) -> RecordedAnswer:
    """Read an answer in one piece or in a stream; whatever it is, it is one."""
    if is_streamed(response) and response.status < 300:
        return stream_of(response.body, left)
    return answer_of(response.status, response.body, left)
