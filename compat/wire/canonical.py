"""The canonical form of a request: two requests match if their forms are one text.

Method and address count, with queries ordered by key, and the body: JSON by its meaning
(types are strict, the order of keys is not), forms by key, all else byte by byte.
Headers do not count, since clients change theirs with each release; what they say about
the body decides how it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from compat.wire.encodings import NotDecodableError, decoded
from compat.wire.exchanges import Headers, Request, Response, first
from compat.wire.json_text import NotJsonError, Tree, text_of, tree_of
from compat.wire.renaming import renamed

_FORM: Final = "application/x-www-form-urlencoded"
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Canonical:
    """A form that can be compared by its digest, and told apart by its tree."""

    tree: Tree
    digest: str


def canonical_request(request: Request) -> Canonical:
    """Return the canonical form of method, address and body."""
    body = canonical_body(request.headers, request.body)
    address = canonical_url(request.url)
    return _sealed({"method": request.method.upper(), "url": address, "body": body})


def canonical_response(response: Response) -> Canonical:
    """Return the canonical form of status and body; a stream is its events."""
    body = canonical_body(response.headers, response.body)
    return _sealed({"status": response.status, "body": body})


def _sealed(tree: Tree) -> Canonical:
    return Canonical(tree, sha256(text_of(tree).encode()).hexdigest())


def canonical_url(url: str) -> Tree:
    """Return scheme, host, port, path and query; user and fragment are not sent there.

    Escapes of a path are undone part by part, so that an escaped slash stays inside its
    part. Values of one query key keep their order, which may mean something.
    """
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return {
        "scheme": scheme,
        "host": parts.hostname or "",
        "port": parts.port or _PORTS.get(scheme),
        "path": [unquote(part) for part in (parts.path or "/").split("/")],
        "query": _by_key(parts.query),
    }


def canonical_body(headers: Headers, body: bytes) -> Tree:
    """Return ``{"json": …}``, ``{"form": …}``, ``{"events": …}`` or ``{"bytes": …}``.

    ``events`` are the lines of a stream, those that hold JSON as what it means. Bytes
    that are UTF-8 are told as text, others as their hexadecimal digits.
    """
    body = _decoded(headers, body)
    kind, _, options = first(headers, "content-type").partition(";")
    kind = kind.strip().lower()
    if _is_json(kind, body):
        try:
            return {"json": renamed(tree_of(body))}
        except NotJsonError:
            return _bytes(body)
    if kind == _FORM and body.isascii():
        return {"form": _by_key(body.decode())}
    if kind in {"text/event-stream", "application/x-ndjson"}:
        return _events(body)
    return _bytes(_without_boundary(body, options))


def _decoded(headers: Headers, body: bytes) -> bytes:
    try:
        return decoded(body, ", ".join(headers.get("content-encoding", ())))
    except NotDecodableError:
        return body


def _is_json(kind: str, body: bytes) -> bool:
    """Tell whether it is JSON by its type or, where that was scrubbed, by its look."""
    if not kind:
        return body[:1] in {b"{", b"["}
    return kind == "application/json" or (
        kind.startswith("application/") and kind.endswith("+json")
    )


def _by_key(query: str) -> Tree:
    found: dict[str, list[str]] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        found.setdefault(key, []).append(value)
    return found


def _bytes(body: bytes) -> Tree:
    try:
        return {"bytes": body.decode()}
    except UnicodeDecodeError:
        return {"bytes": {"hex": body.hex()}}


def _without_boundary(body: bytes, options: str) -> bytes:
    """Name the boundary of a multipart body anew: clients draw it by chance."""
    for option in options.split(";"):
        name, _, value = option.strip().partition("=")
        if name.lower() == "boundary" and value.strip('"'):
            return body.replace(value.strip('"').encode(), b"boundary")
    return body


def _events(body: bytes) -> Tree:
    try:
        lines = body.decode().splitlines()
    except UnicodeDecodeError:
        return _bytes(body)
    # One renaming for the whole stream: an id means the same in each of its events.
    events = renamed([_event(line) for line in lines])
    return {"events": events}


def _event(line: str) -> Tree:
    data = line.removeprefix("data:").strip()
    try:
        return {"data": tree_of(data)} if data[:1] in {"{", "["} else line
    except NotJsonError:
        return line
