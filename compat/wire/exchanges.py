"""What went over the wire, as frozen values, and what a ``content-encoding`` names.

Bodies are decoded: what a ``content-encoding`` named is undone, and the header is gone.

``gzip`` and ``deflate`` are decoded with the standard library; ``br`` and ``zstd`` if
httpx2 finds a decoder, since it is what clients here decode with.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from compat.wire.cassette_text import library

Headers: TypeAlias = Mapping[str, tuple[str, ...]]
"""The values of each header, by its name in lower case, in the order they came in."""

CUT: Final = "x-refengine-cut"
"""Header of a recorded response whose connection broke off behind its last byte."""


def headers_of(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return headers by lower-cased name; a name that comes again keeps all values."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        key = name.lower()
        found[key] = (*found.get(key, ()), value)
    return found


def pairs_of(headers: Headers) -> list[tuple[str, str]]:
    """Return name and value of each header line, as clients and servers take them."""
    return [(name, value) for name, values in headers.items() for value in values]


def first(headers: Headers, name: str) -> str:
    """Return the first value of a header, named in lower case; ``""`` without one."""
    values = headers.get(name, ())
    return values[0] if values else ""


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent; ``body`` is empty where there was none."""

    method: str
    url: str
    headers: Headers = field(default_factory=dict[str, tuple[str, ...]])
    body: bytes = b""

    def __str__(self) -> str:
        """Return method and address without its query, which may hold a key."""
        return f"{self.method} {self.url.partition('?')[0]}"


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered, the whole body of a stream included.

    ``url`` is the address that answered in the end, which some recorders write.
    """

    status: int
    reason: str = ""
    headers: Headers = field(default_factory=dict[str, tuple[str, ...]])
    body: bytes = b""
    url: str = ""

    @property
    def cut(self) -> bool:
        """Whether the connection broke off behind the last byte."""
        return CUT in self.headers


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response.

    ``after`` is how many exchanges of its file had ended when the request came; None
    where all before it had. A file has exchanges in the order of their ends, so this
    says which of them may come in any order.
    """

    request: Request
    response: Response
    after: int | None = None


def is_address(url: str) -> bool:
    """Tell whether a request can be sent there; some recorders redact addresses."""
    try:
        parts = urlsplit(url)
        return bool(parts.scheme and parts.hostname and parts.port != 0)
    except ValueError:
        return False


ZSTD: Final = "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
CUT_OFF: Final = "cut off, or more than a body can be"
BODY_LIMIT: Final = 64 * 1024 * 1024
"""No body of an exchange with a model is longer; a few bytes can be made to unpack to
more than the machine has."""


class NotDecodableError(ValueError):
    """The bytes are not what the encoding says, or nothing here decodes it."""


def decoded(body: bytes, encoding: str) -> bytes:
    """Return the body with each encoding undone, the last one named first.

    Raises NotDecodableError.
    """
    for name in reversed([each.strip().lower() for each in encoding.split(",")]):
        if not body or name in {"", "identity"}:
            continue
        decode = _DECODERS.get(name)
        if decode is None:
            raise NotDecodableError(name)
        body = decode(body)
    return body


def is_text(body: bytes) -> bool:
    """Tell whether it is text, which compressed bytes are not."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


GZIP: Final = b"\x1f\x8b"
_PACKINGS: Final = {
    GZIP: "gzip",
    b"x\x01": "deflate",
    b"x^": "deflate",
    b"x\x9c": "deflate",
    b"x\xda": "deflate",
}
"""How packed bytes begin, whatever a header says."""


def packing_of(body: bytes) -> str:
    """Return the encoding that bytes begin like, or nothing."""
    return _PACKINGS.get(body[:2], "")


def _gzip(body: bytes) -> bytes:
    """Unpack all members; servers that flush send several."""
    unpacked = b""
    while body:
        member, body = _unpacked(body, zlib.MAX_WBITS | 16, BODY_LIMIT - len(unpacked))
        unpacked += member
    return unpacked


def _deflate(body: bytes) -> bytes:
    """Unpack with a zlib header or, as some servers send it, without one."""
    try:
        return _unpacked(body, zlib.MAX_WBITS, BODY_LIMIT)[0]
    except NotDecodableError:
        return _unpacked(body, -zlib.MAX_WBITS, BODY_LIMIT)[0]


def _unpacked(body: bytes, window: int, limit: int) -> tuple[bytes, bytes]:
    """Return what the first packed part holds, and what stands behind it."""
    unpack = zlib.decompressobj(window)
    try:
        found = unpack.decompress(body, max(limit, 1))
    except zlib.error as error:
        raise NotDecodableError(str(error)) from error
    if not unpack.eof:
        raise NotDecodableError(CUT_OFF)
    return found, unpack.unused_data


def _brotli(body: bytes) -> bytes:
    brotli = library("brotli")
    unpack = brotli.Decompressor()
    try:
        found = bytes(unpack.process(body, output_buffer_limit=BODY_LIMIT))
    except brotli.error as error:
        raise NotDecodableError(str(error)) from error
    if not unpack.is_finished() or len(found) > BODY_LIMIT:  # it stops a little late
        raise NotDecodableError(CUT_OFF)
    return found


def _zstd(body: bytes) -> bytes:
    """Unpack all frames; a stream may have several."""
    zstd = library(ZSTD)
    unpacked = b""
    while body:
        unpack = zstd.ZstdDecompressor()
        try:
            unpacked += unpack.decompress(body, max(BODY_LIMIT - len(unpacked), 1))
        except zstd.ZstdError as error:
            raise NotDecodableError(str(error)) from error
        if not unpack.eof:
            raise NotDecodableError(CUT_OFF)
        body = unpack.unused_data
    return unpacked


_DECODERS: Final[Mapping[str, Callable[[bytes], bytes]]] = MappingProxyType(
    {
        "gzip": _gzip,
        "x-gzip": _gzip,
        "deflate": _deflate,
        "br": _brotli,
        "zstd": _zstd,
    }
)
