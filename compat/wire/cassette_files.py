"""Cassette files of vcrpy (YAML and JSON, version 1) and of pydantic-ai, as exchanges.

pydantic-ai writes ``parsed_body``, the body as a tree, instead of its text. We write
``after`` where requests overlapped, which vcrpy reads over. Nothing is dropped: a key
that is not known here is an error. Tags run nothing: those of old vcrpy
files that stand for text, bytes or a list are read as such, others are refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from compat.wire.cassette_text import Anything, loaded
from compat.wire.errors import (
    CassetteError,
    no_interaction,
    not_a_cassette,
)
from compat.wire.exchanges import (
    GZIP,
    Exchange,
    Headers,
    NotDecodableError,
    Request,
    Response,
    decoded,
    headers_of,
    is_text,
)
from refengine.testing.json_values import is_list, is_mapping

VERSION: Final = 1
_ENCODING: Final = "content-encoding"
_FILE: Final = {"version", "interactions", "metadata"}
_INTERACTION: Final = {"request", "response", "after"}
_REQUEST: Final = {"method", "uri", "headers", "body", "parsed_body"}
_RESPONSE: Final = {"status", "headers", "body", "parsed_body", "url"}
_OLD_RESPONSE: Final = {"status_code", "headers", "content", "http_version"}
"""What vcrpy wrote for httpx before its version 6."""


@dataclass(frozen=True, slots=True)
class Cassette:
    """What a file holds; ``metadata`` is what vcrpy's ``get_metadata`` keeps there."""

    exchanges: tuple[Exchange, ...]
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


def read_cassette(path: Path) -> tuple[Exchange, ...]:
    """Return the exchanges of a file, in its order; raises a CassetteError."""
    return read_whole(path).exchanges


def read_whole(path: Path) -> Cassette:
    """Return the exchanges of a file and its metadata; raises a CassetteError."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError) as error:
        problem = "there is no such cassette: record it first"
        raise CassetteError(path.name, problem) from error
    return parsed(data, path.name)


def is_cassette(path: Path) -> bool:
    """Tell whether a file is meant as a cassette: YAML, packed, or with interactions.

    Raises OSError.
    """
    if path.suffix in {".yaml", ".yml"}:
        return True
    data = path.read_bytes()
    if data.startswith(GZIP):
        return True
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return is_mapping(tree) and "interactions" in tree


def parsed(data: bytes, name: str) -> Cassette:
    """Return what the bytes of a file hold; ``name`` is what errors call it."""
    tree = loaded(_unzipped(data, name), name)
    if not is_mapping(tree) or not is_list(tree.get("interactions")):
        raise not_a_cassette(name, "it has no list of interactions")
    _known(tree, _FILE, name, "the file")
    if tree.get("version") != VERSION:
        raise not_a_cassette(name, f"version {tree.get('version')!r} is not read")
    if not tree["interactions"]:
        raise no_interaction(name)
    parts = enumerate(tree["interactions"], 1)
    exchanges = tuple(exchange_of(each, name, number) for number, each in parts)
    return Cassette(exchanges, dict(tree.get("metadata") or {}))


def exchange_of(tree: Anything, name: str, number: int) -> Exchange:
    """Return the exchange of one interaction; raises a CassetteError."""
    return _Reader(name, number).exchange(tree)


def request_of(tree: Anything, name: str, number: int) -> Request:
    """Return the request of one half interaction; raises a CassetteError."""
    return _Reader(name, number).request(tree)


def _unzipped(data: bytes, name: str) -> bytes:
    if not data.startswith(GZIP):
        return data
    try:
        return decoded(data, "gzip")
    except NotDecodableError as error:
        raise not_a_cassette(name, f"the file is damaged gzip ({error})") from error


def _known(
    tree: Anything,
    known: set[str],
    file: str,
    where: str,
    number: int | None = None,
) -> None:
    unknown = {str(key) for key in tree} - known
    if unknown:
        named = ", ".join(map(repr, sorted(unknown)))
        problem = f"{where} has {named}, which is not read: remove it"
        raise CassetteError(file, f"{problem}, or extend the reader", number)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one interaction; errors name its file and number."""

    file: str
    number: int

    def exchange(self, tree: Anything) -> Exchange:
        """Return both halves of an interaction."""
        self.has(tree, "the interaction", _INTERACTION, ("request", "response"))
        after = tree.get("after")
        if after is not None and (type(after) is not int or after < 0):
            raise self.wrong("after is not a number of interactions")
        request, response = tree["request"], tree["response"]
        return Exchange(self.request(request), self.response(response), after)

    def request(self, tree: Anything) -> Request:
        """Return what was sent; a body that is left out was empty."""
        self.has(tree, "the request", _REQUEST, ("method", "uri", "headers"))
        headers = self.headers(tree["headers"])
        body = self.body(tree, tree.get("body"))
        headers, body = self.decoded(headers, body)
        method, url = (self.text(tree[key], key) for key in ("method", "uri"))
        return Request(method.upper(), url, headers, body)

    def response(self, tree: Anything) -> Response:
        """Return what was answered, also as vcrpy wrote it for httpx before 6."""
        if is_mapping(tree) and "status_code" in tree:
            self.has(tree, "the response", _OLD_RESPONSE, ("headers", "content"))
            status = tree["status_code"], ""
            body = self.bytes_of(tree["content"])
        else:
            self.has(tree, "the response", _RESPONSE, ("status", "headers"))
            status = self.status(tree["status"])
            body = self.body(tree, tree.get("body"))
        if type(status[0]) is not int:
            raise self.wrong("the status is not a whole number")
        headers, body = self.decoded(self.headers(tree["headers"]), body)
        url = self.text(tree.get("url") or "", "url")
        return Response(*status, headers, body, url)

    def status(self, tree: Anything) -> tuple[Anything, str]:
        """Return the number and the words, which may be missing."""
        self.has(tree, "the status", {"code", "message"}, ("code",))
        return tree["code"], self.text(tree.get("message") or "", "message")

    def headers(self, tree: Anything) -> Headers:
        """Return headers, of which one value may stand without a list."""
        if not is_mapping(tree):
            raise self.wrong("headers are not an object")
        return headers_of(
            (self.text(name, "header"), self.text(value, f"header {name}"))
            for name, values in tree.items()
            for value in (values if is_list(values) else [values])
        )

    def body(self, tree: Anything, body: Anything) -> bytes:
        """Return the body, whether given as it was sent or as a tree."""
        if "parsed_body" in tree:
            if body is not None:
                raise self.wrong("it has a body and a parsed_body")
            return self.dumped(tree["parsed_body"])
        if is_mapping(body):
            _known(body, {"string"}, self.file, "the body", self.number)
            body = body.get("string")
        return self.bytes_of(body)

    def dumped(self, tree: Anything) -> bytes:
        """Return a tree as JSON, byte for byte as pydantic-ai replays it."""
        try:
            return json.dumps(tree, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise self.wrong("parsed_body holds what JSON cannot") from error

    def bytes_of(self, body: Anything) -> bytes:
        """Return the bytes of a body: none, text, bytes, or pieces of these."""
        if body is None:
            return b""
        if is_list(body):
            return b"".join(map(self.bytes_of, body))
        if isinstance(body, bytes):
            return body
        return self.text(body, "the body").encode()

    def decoded(self, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        """Undo what content-encoding names, unless the recorder had done so."""
        encoding = ", ".join(headers.get("content-encoding", ()))
        kept = {key: each for key, each in headers.items() if key != _ENCODING}
        try:
            return kept, decoded(body, encoding)
        except NotDecodableError as error:
            if is_text(body):
                return kept, body
            problem = (
                f"the body is not what content-encoding {encoding!r} says,"
                " or nothing here decodes it: record it decoded"
            )
            raise CassetteError(self.file, problem, self.number) from error

    def text(self, value: Anything, where: str) -> str:
        """Return text that can be sent; a number is the text it was written as."""
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise self.wrong(f"{where} is {type(value).__name__}, not text")
        if not value.isascii():
            self.encodable(value, where)
        return value

    def encodable(self, text: str, where: str) -> None:
        """Refuse half an emoji, which no client can send."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self.wrong(f"{where} has half a character") from error

    def has(
        self, tree: Anything, where: str, known: set[str], needed: Sequence[str]
    ) -> None:
        """Check that the parts are there, and no part that would be dropped."""
        if not is_mapping(tree):
            raise self.wrong(f"{where} is not an object")
        _known(tree, known, self.file, where, self.number)
        for key in needed:
            if key not in tree:
                raise self.wrong(f"{where} has no {key}")

    def wrong(self, problem: str) -> CassetteError:
        """Return the error that names file and interaction."""
        problem = f"{problem}: repair the interaction"
        return CassetteError(self.file, problem, self.number)
