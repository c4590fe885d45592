"""Whether bytes hold a secret, found without the rules that took it out.

It knows the secret, so it can look for each form of it, where rules have to guess.
"""

from __future__ import annotations

import binascii
import gzip
import html
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

_PIECE: Final = re.compile(rb"[A-Za-z0-9+/_-]{8,}")
_ESCAPED: Final = re.compile(r"\\+u([0-9a-fA-F]{4})")


def revealed(data: bytes, cores: Sequence[str]) -> list[str]:
    """Return those secrets that the bytes hold in any form that is tried here."""
    left = dict.fromkeys(cores)
    text = data.decode("utf-8", "replace")
    for form in {*_forms(text), *_forms(_joined(text))}:
        raw = form.encode("utf-8", "replace")
        standard = raw.translate(_STANDARD)
        for core in [each for each in left if _holds(each, form, standard)]:
            del left[core]
        for inner in _pieces(raw):
            for core in [each for each in left if each in inner]:
                del left[core]
    return [each for each in cores if each not in left]


def _holds(core: str, form: str, standard: bytes) -> bool:
    return core in form or any(each in standard for each in _cores(core))


_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


def _pieces(raw: bytes) -> Iterator[str]:
    """Yield what each piece of base64 holds, wherever it begins."""
    for piece in _PIECE.finditer(raw):
        for before in range(4):
            for unpacked in _unpacked(piece.group()[before:]):
                yield from _forms(_plain(unpacked))


def _forms(text: str) -> Iterator[str]:
    """Yield a text with escapes undone, one kind after the other, in some orders."""
    found = {text}
    for _ in range(3):
        found |= {undo(each) for each in found for undo in _UNDONE}
    for each in found:
        yield each
        yield each.replace("\0", "").replace("\\", "")


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(_letter, text)


def _letter(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _narrow(text: str) -> str:
    return text.replace("\0", "")


_UNDONE: Final = (unquote, _unescaped, html.unescape, _narrow)


def _joined(text: str) -> str:
    """Return what the events of a stream say, one behind the other."""
    return "".join(re.findall(r'"content": ?"((?:[^"\\]|\\.)*)"', text))


def _plain(raw: bytes) -> str:
    with suppress(OSError, EOFError, ValueError, zlib.error):
        raw = gzip.decompress(raw)
    return raw.decode("latin-1").replace("\0", "")


def _unpacked(piece: bytes) -> Iterator[bytes]:
    digits = piece.translate(_STANDARD)
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    try:
        yield b64decode(digits + b"=" * (-len(digits) % 4))
    except (binascii.Error, ValueError):
        return


def _cores(core: str) -> Iterator[bytes]:
    for raw in (core.encode(), core.encode("utf-16-le")):
        for before in range(3):
            made = b64encode(b"\0" * before + raw).decode()
            start, end = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
            yield made[start:end].encode()
