"""Which API of a vendor an exchange speaks, by its address and, if need be, its shape.

Chat completions are spoken by many vendors, under other addresses as well: a request
with messages whose answer has choices is one of them.
"""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import urlsplit

from compat.models.sse import events_of
from compat.wire.exchanges import Exchange, Response, first
from refengine.testing.narrowing import is_list, is_mapping

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
