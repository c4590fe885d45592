"""Where a secret may stand, in which form, and what carries it over the wire."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias
from urllib.parse import quote

from compat.wire.exchanges import Exchange, Request, Response
from tests.made_secrets.families import MadeSecret

Said: TypeAlias = Callable[[str], str]

SHAPED_PLACES: Final[Mapping[str, Said]] = {
    "a sentence": lambda secret: f"please use {secret} now",
    "quotes": lambda secret: f'it is "{secret}"',
    "a line": lambda secret: f"first\n{secret}\nlast",
    "a field of JSON": lambda secret: json.dumps({"note": secret}),
}
NAMED_PLACES: Final[Mapping[str, Callable[[str, str], str]]] = {
    "a field of JSON": lambda name, value: json.dumps({"a": {name: value}}),
    "JSON in a text": lambda name, value: f"it has {json.dumps({name: value})} here",
    "export": lambda name, value: f"cd x\nexport {name}='{value}'\nls",
    "a line": lambda name, value: f'A=1\n{name}="{value}"\nB=2',
    "a query": lambda name, value: (
        f"https://h.example/x?a=1&{quote(name)}={quote(value, safe='')}&b=2"
    ),
    "YAML": lambda name, value: f"a: 1\n{name}: '{value}'\nb: 2",
}

ENCODINGS: Final[Mapping[str, Said]] = {
    "plain": lambda text: text,
    "percent": lambda text: quote(text, safe=""),
    "percent, all": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON, all": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "HTML": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64 behind 1": lambda text: b64encode(b"{" + text.encode()).decode(),
    "base64 behind 2": lambda text: b64encode(b'{"' + text.encode()).decode(),
    "base64, a slice": lambda text: b64encode(b"before: " + text.encode()).decode()[3:],
    "base64 for addresses": lambda text: (
        urlsafe_b64encode(text.encode()).decode().rstrip("=")
    ),
    "UTF-16": lambda text: text.encode("utf-16-le").decode("latin-1"),
    "base64 of UTF-16": lambda text: b64encode(text.encode("utf-16")).decode(),
    "base64 of gzip": lambda text: b64encode(
        gzip.compress(text.encode(), mtime=0)
    ).decode(),
}

_URL: Final = "https://api.example/v1/chat/completions"
_JSON: Final = {"content-type": ("application/json",)}
_TEXT: Final = {"content-type": ("text/plain",)}
_EVENTS: Final = {"content-type": ("text/event-stream",)}


def _body(text: str) -> Exchange:
    return Exchange(Request("POST", _URL, _TEXT, text.encode()), Response(200))


def _content(text: str) -> Exchange:
    tree = {"messages": [{"role": "user", "content": text}]}
    asked = Request("POST", _URL, _JSON, json.dumps(tree).encode())
    return Exchange(asked, Response(200))


def _arguments(text: str) -> Exchange:
    call = {"function": {"name": "f", "arguments": json.dumps({"given": text})}}
    answer = {"choices": [{"message": {"tool_calls": [call]}}]}
    body = json.dumps(answer).encode()
    return Exchange(Request("GET", _URL), Response(200, "OK", _JSON, body))


def _chunks(text: str) -> Exchange:
    """Cut the text over events, seven letters each."""
    events = [
        {"choices": [{"index": 0, "delta": {"content": text[at : at + 7]}}]}
        for at in range(0, len(text), 7)
    ]
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in events).encode()
    return Exchange(Request("GET", _URL), Response(200, "OK", _EVENTS, body))


def _address(text: str) -> Exchange:
    return Exchange(Request("GET", f"{_URL}?q={quote(text, safe='')}"), Response(200))


def _packed(text: str) -> Exchange:
    asked = Request("POST", _URL, _JSON, json.dumps({"text": text}).encode())
    body = gzip.compress(asked.body, mtime=0)
    return Exchange(asked, Response(200, "OK", _JSON, body))


CARRIERS: Final[Mapping[str, Callable[[str], Exchange]]] = {
    "a body": _body,
    "a message": _content,
    "arguments": _arguments,
    "events": _chunks,
    "an address": _address,
    "a packed body": _packed,
}


def placed(secret: MadeSecret, number: int) -> tuple[str, str]:
    """Return the n-th place of a secret, and the text there."""
    if secret.name:
        named = list(NAMED_PLACES.items())
        place, say = named[number % len(named)]
        return place, say(secret.name, secret.text)
    shaped = list(SHAPED_PLACES.items())
    place, said = shaped[number % len(shaped)]
    return place, said(secret.text)
