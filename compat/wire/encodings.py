"""Undoing what a ``content-encoding`` names.

``gzip`` and ``deflate`` are decoded with the standard library; ``br`` and ``zstd`` if
httpx2 finds a decoder, since it is what clients here decode with.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

LIMIT: Final = 64 * 1024 * 1024
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


def _gzip(body: bytes) -> bytes:
    """Unpack all members; servers that flush send several."""
    unpacked = b""
    while body:
        member, body = _unpacked(body, zlib.MAX_WBITS | 16, LIMIT - len(unpacked))
        unpacked += member
    return unpacked


def _deflate(body: bytes) -> bytes:
    """Unpack with a zlib header or, as some servers send it, without one."""
    try:
        return _unpacked(body, zlib.MAX_WBITS, LIMIT)[0]
    except NotDecodableError:
        return _unpacked(body, -zlib.MAX_WBITS, LIMIT)[0]


def _unpacked(body: bytes, window: int, limit: int) -> tuple[bytes, bytes]:
    """Return what the first packed part holds, and what stands behind it."""
    unpack = zlib.decompressobj(window)
    try:
        found = unpack.decompress(body, max(limit, 1))
    except zlib.error as error:
        raise NotDecodableError(str(error)) from error
    if not unpack.eof:
        raise NotDecodableError("cut off, or more than a body can be")
    return found, unpack.unused_data


def _httpx2(name: str) -> Callable[[bytes], bytes]:
    def decode(body: bytes) -> bytes:
        import httpx2  # noqa: PLC0415  # reading plain text needs no client

        try:
            headers = {"content-encoding": name}
            found = httpx2.Response(200, headers=headers, content=body).content
        except httpx2.DecodingError as error:
            raise NotDecodableError(str(error)) from error
        if found == body:  # without a decoder it hands over what it was given
            raise NotDecodableError(name)
        return found

    return decode


_DECODERS: Final[Mapping[str, Callable[[bytes], bytes]]] = MappingProxyType(
    {
        "gzip": _gzip,
        "x-gzip": _gzip,
        "deflate": _deflate,
        "br": _httpx2("br"),
        "zstd": _httpx2("zstd"),
    }
)
