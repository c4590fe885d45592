"""A text as others may read it: unescaped, unpacked, each place known in the text.

A key that is percent-encoded, escaped as in JSON or HTML, or in UTF-16 has another
shape than the key; in base64, or packed there, it has none. So these are undone, the
result is searched, and what is found is replaced where it stands in the text.
"""

from __future__ import annotations

import binascii
import html
import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from compat.wire.exchanges import NotDecodableError, decoded, is_text

Span: TypeAlias = tuple[int, int]
Search: TypeAlias = Callable[[str], Iterable[Span]]
"""Where something stands in a text."""

DEEP: Final = 3
"""So many times one thing is looked for inside another."""
SHORTEST: Final = 16
"""No piece of base64 is shorter that holds a name and a secret, or a key."""
_PERCENT: Final = re.compile(r"%(?:25)*([0-9a-fA-F]{2})")
_ESCAPE: Final = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'/\\]))")
_ENTITY: Final = re.compile(r"&(?:amp;)*(#?\w{1,8});")
_NOTHING: Final = re.compile("\0")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_STANDARD: Final = str.maketrans("-_", "+/")
_PACKED: Final = ((b"\x1f\x8b", "gzip"), (b"x\x01", "deflate"), (b"x\x9c", "deflate"))
_PRINTED: Final = bytes([0, 9, 10, 13, *range(32, 127)])
_OTHER: Final = 0.4
"""No greater share of other bytes is in what base64 holds of a text, or beside one."""


def spans_within(text: str, search: Search, depth: int = DEEP) -> Iterator[Span]:
    """Yield where the text holds, in some other form, what the search finds."""
    if not depth:
        return
    for form, said in _FORMS:
        if form.search(text):
            yield from _unescaped(text, form, said, search, depth)
    for piece in _BASE64.finditer(text):
        if any(_holds(each, search, depth - 1) for each in _unpacked(piece.group())):
            yield piece.span()


def _unescaped(
    text: str,
    form: re.Pattern[str],
    said: Callable[[re.Match[str]], str],
    search: Search,
    depth: int,
) -> Iterator[Span]:
    """Search a text without its escapes; yield the places in the text itself."""
    pieces: list[str] = []
    starts: list[int] = []
    at = 0
    for match in form.finditer(text):
        pieces.append(text[at : match.start()])
        starts.extend(range(at, match.start()))
        plain = said(match)
        pieces.append(plain)
        starts.extend([match.start()] * len(plain))
        at = match.end()
    pieces.append(text[at:])
    starts.extend(range(at, len(text) + 1))
    found = "".join(pieces)
    for start, end in (*search(found), *spans_within(found, search, depth - 1)):
        yield starts[start], starts[end]


def _percent(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _escape(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    return match[3] if digits is None else chr(int(digits, 16))


def _entity(match: re.Match[str]) -> str:
    return html.unescape(f"&{match[1]};")


def _nothing(_: re.Match[str]) -> str:
    return ""


_FORMS: Final = (
    (_PERCENT, _percent),
    (_ESCAPE, _escape),
    (_ENTITY, _entity),
    (_NOTHING, _nothing),
)


def _holds(raw: bytes, search: Search, depth: int) -> bool:
    """Tell whether the search finds anything in bytes, packed or not."""
    for magic, encoding in _PACKED:
        if raw.startswith(magic):
            try:
                raw = decoded(raw, encoding)
            except NotDecodableError:
                return False
    if len(raw.translate(None, _PRINTED)) > _OTHER * len(raw):
        return False
    text = raw.decode("utf-8" if is_text(raw) else "latin-1")
    return any(True for _ in search(text)) or any(
        True for _ in spans_within(text, search, depth)
    )


def _unpacked(piece: str) -> Iterator[bytes]:
    """Yield what a piece of base64 holds, which may be a slice: wherever it begins."""
    digits = piece.rstrip("=").translate(_STANDARD)
    for before in range(4):
        slice_ = digits[before:]
        slice_ = slice_[: len(slice_) - (len(slice_) % 4 == 1)]
        if len(slice_) < SHORTEST - 4:
            return
        try:
            yield b64decode(slice_ + "=" * (-len(slice_) % 4))
        except (binascii.Error, ValueError, zlib.error):
            continue
