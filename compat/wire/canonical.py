"""The canonical form of a request: two requests match if their forms are one text.

Method and address count, with queries ordered by key, and the body: JSON by its meaning
(types are strict, the order of keys is not), forms by key, all else byte by byte.
Headers do not count, since clients change theirs with each release; what they say about
the body decides how it is read.

A vendor makes up the id of a tool call, a response or an item, and a client sends it
back. Such ids are renumbered in order of first appearance, so that two bodies are equal
if one renaming leads from one to the other. Only slots that the vendors' interfaces
have for such ids count; a tool's own data may hold an ``id`` that means something.

The ``arguments`` of a tool call are JSON within a string. They are written anew in the
one way of ``json_trees``, and stay a string: an object in their place differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from compat.wire.exchanges import (
    Headers,
    NotDecodableError,
    Request,
    Response,
    decoded,
    first,
)
from compat.wire.json_trees import NotJsonError, Tree, text_of, tree_of
from refengine.testing.json_values import is_list, is_mapping

_REFERENCES: Final = {
    "approval_request_id",
    "call_id",
    "item_id",
    "previous_response_id",
    "response_id",
    "tool_call_id",
    "tool_use_id",
    "toolCallId",
    "toolUseId",
}
"""Keys whose value is such an id wherever they stand outside data."""

_OWNERS: Final = re.compile(
    r"function|message|reasoning|compaction|item_reference|tool_call|toolUse"
    r"|\w*(tool_use|tool_result|_call|_call_output|_approval_request|_list_tools)"
)
"""The ``type`` of an object whose ``id`` is such an id."""

_SCHEMAS: Final = {"parameters", "input_schema", "inputSchema", "schema", "metadata"}
_DATA: Final = {"input", "args", "arguments", "response"}
"""Keys of a call or its result, in an object with a name, that hold a tool's data."""


def renamed(tree: Tree) -> Tree:
    """Return the tree with ids renumbered and arguments in one way."""
    return _Renaming().tree(tree)


@dataclass(frozen=True, slots=True)
class _Renaming:
    """The ids of one body, by what they were called."""

    names: dict[str, str] = field(default_factory=dict[str, str])

    def tree(self, tree: Tree) -> Tree:
        """Return a tree that is not data; objects are gone through by key."""
        if is_mapping(tree):
            return {key: self.value(tree, key) for key in sorted(tree)}
        if is_list(tree):
            return [self.tree(each) for each in tree]
        return tree

    def value(self, owner: Mapping[str, Tree], key: str) -> Tree:
        """Return what stands under a key."""
        value = owner[key]
        if isinstance(value, str):
            if value and _is_slot(owner, key):
                return self.names.setdefault(value, f"id-{len(self.names) + 1}")
            return _arguments(value) if _are_arguments(owner, key) else value
        return value if _is_data(owner, key) else self.tree(value)


def _is_slot(owner: Mapping[str, Tree], key: str) -> bool:
    if key != "id":
        return key in _REFERENCES
    kind = owner.get("type")
    if isinstance(kind, str) and _OWNERS.fullmatch(kind):
        return True
    # Chat messages and responses; calls of Gemini and of Mistral, which have no type.
    return (
        isinstance(owner.get("role"), str)
        or "object" in owner
        or is_mapping(owner.get("function"))
        or ("name" in owner and ("args" in owner or "response" in owner))
    )


def _are_arguments(owner: Mapping[str, Tree], key: str) -> bool:
    return key == "arguments" and "name" in owner


def _is_data(owner: Mapping[str, Tree], key: str) -> bool:
    return key in _SCHEMAS or (key in _DATA and "name" in owner)


def _arguments(text: str) -> str:
    """Return JSON in its one text; a model also writes what is none."""
    try:
        return text_of(tree_of(text))
    except NotJsonError:
        return text


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
