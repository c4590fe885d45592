"""Finding a known secret in a text, in whatever form it was put there.

A secret is sought as it is and with any of its characters escaped as in JSON, in an
address or in HTML, also twice; as hexadecimal digits; and within base64, where it looks
different for each of three positions. Upper and lower case count alike.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from compat.wire.errors import ShortSecretError

SHORTEST: Final = 4
"""A shorter value stands in every other text by chance."""

Span: TypeAlias = tuple[int, int]

_ESCAPED: Final = re.compile(r"[%\\&+=]")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+=*")
_NAMED: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}


class Forms:
    """The forms of some secrets. It never shows them."""

    __slots__ = ("_base64", "_escaped", "_plain")

    def __init__(self, secrets: Iterable[str]) -> None:
        values = sorted(set(secrets), key=len, reverse=True)
        for place, value in enumerate(values):
            if len(value) < SHORTEST:
                raise ShortSecretError(place, len(value), SHORTEST)
        hexed = [value.encode().hex() for value in values]
        self._plain = _any([*map(re.escape, values), *hexed], re.IGNORECASE)
        self._escaped = _any(map(_escaped, values), re.IGNORECASE)
        self._base64 = _any(core for value in values for core in _cores(value))

    def spans(self, text: str) -> Iterator[Span]:
        """Yield where a form stands; of base64 the whole piece, since it has others."""
        if self._plain is None or self._escaped is None or self._base64 is None:
            return
        yield from _found(self._plain, text)
        if _ESCAPED.search(text):
            yield from _found(self._escaped, text)
        if self._base64.search(text):
            for piece in _BASE64.finditer(text):
                if self._base64.search(text, *piece.span()):
                    yield piece.span()
            # Escaped within an address or JSON, base64 is no one piece.
            yield from _found(self._base64, text)


def _found(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    return (match.span() for match in pattern.finditer(text))


def _any(forms: Iterable[str], flags: int = 0) -> re.Pattern[str] | None:
    given = list(forms)
    return re.compile("|".join(given), flags) if given else None


def _escaped(value: str) -> str:
    """Return a pattern in which each character may be escaped, however often."""
    return "".join(f"(?:{'|'.join(_ways(character))})" for character in value)


def _ways(character: str) -> Iterator[str]:
    yield (
        rf"\\*{re.escape(character)}"
        if character in "\"'\\/"
        else (re.escape(character))
    )
    yield "".join(f"%(?:25)*{byte:02x}" for byte in character.encode())
    units = character.encode("utf-16-be").hex()
    yield "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4))
    code = ord(character)
    yield rf"&(?:amp;)*#(?:x0*{code:x}|0*{code});"
    if code < 256:
        yield rf"\\+x{code:02x}"
    if character in _NAMED:
        yield rf"\\+{_NAMED[character]}"
    if character == " ":
        yield r"\+"
    if html.escape(character) != character:
        yield re.escape(html.escape(character))


def _cores(value: str) -> Iterator[str]:
    """Yield what base64 makes of the value in each position, without what is shared."""
    raw = value.encode()
    for before in range(3):
        made = b64encode(b"\0" * before + raw).decode()
        start, end = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        yield "".join(map(_either, made[start:end]))


def _either(character: str) -> str:
    """Return a digit of base64, of its form for addresses, or escaped."""
    return {"+": r"(?:\+|-|%2[Bb])", "/": r"(?:\\*/|_|%2[Ff])"}.get(
        character, character
    )
