"""Replacing in a text known secrets, and what looks like one.

A secret is sought as it is and with any of its characters escaped as in JSON, in an
address or in HTML, also twice; as hexadecimal digits; and within base64, where it looks
different for each of three positions. Upper and lower case count alike. What looks like
a key is said by ``shapes``.

Both are sought in the text as others may read it, too. A key that is percent-encoded,
escaped as in JSON or HTML, or in UTF-16 has another shape than the key; in base64, or
packed there, it has none. So these are undone, the result is searched, and what is
found is replaced where it stands in the text.
"""

from __future__ import annotations

import binascii
import html
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, TypeAlias, TypeVar

from compat.wire.errors import PLACEHOLDER, ScrubbingError
from compat.wire.exchanges import NotDecodableError, decoded, is_text, packing_of
from compat.wire.scrubbing.shapes import Span, shape_spans

Search: TypeAlias = Callable[[str], Iterable[Span]]
"""Where something stands in a text."""

_Form: TypeAlias = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]
"""How an escape looks, and what it says."""

DEEP: Final = 3
"""So many times one thing is looked for inside another."""
LEAST_PIECE: Final = 16
"""No piece of base64 is shorter that holds a name and a secret, or a key."""
_PERCENT: Final = re.compile(r"%(?:25)*([0-9a-fA-F]{2})")
_ESCAPE: Final = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'/\\]))")
_ENTITY: Final = re.compile(r"&(?:amp;)*(#?\w{1,8});")
_NOTHING: Final = re.compile(r"\0(?=.?\0)|(?<=\0.)\0|(?<=\0)\0", re.DOTALL)
"""Beside characters of two or four bytes; a NUL alone is in most other bytes, too."""
_PIECE: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_STANDARD: Final = str.maketrans("-_", "+/")
_PRINTED: Final = bytes([0, 9, 10, 13, *range(32, 127)])
NEAR: Final = 1_024
"""So far around its escapes a text is read again without them, at first."""
_OTHER: Final = 0.4
"""No greater share of other bytes is in what base64 holds of a text, or beside one."""


def spans_within(text: str, search: Search, depth: int = DEEP) -> Iterator[Span]:
    """Yield where the text holds, in some other form, what the search finds."""
    if not depth:
        return
    for form in _FORMS:
        yield from _unescaped(text, form, search, depth)
    for piece in _PIECE.finditer(text):
        if any(_holds(each, search, depth - 1) for each in _unpacked(piece.group())):
            yield piece.span()


def _unescaped(text: str, form: _Form, search: Search, depth: int) -> Iterator[Span]:
    """Search a text without its escapes; yield the places in the text itself.

    Only around them it reads otherwise. Bytes that are no text have a few by chance:
    read as a whole for each form, and within that again, a megabyte took a minute.
    """
    read = 0
    for part in _around(form, text):
        if part[1] > read:  # else a part that was made wider has it
            found, read = _in_part(text, part, form, search, depth)
            yield from found


def _around(form: _Form, text: str) -> list[Span]:
    """Return where the text has escapes, with what is near them."""
    last = len(text)
    spans = (each.span() for each in form[0].finditer(text))
    return merged((max(0, at - NEAR), min(last, end + NEAR)) for at, end in spans)


def _in_part(
    text: str, part: Span, form: _Form, search: Search, depth: int
) -> tuple[list[Span], int]:
    """Search a part of a text, and a wider one where what is found may go on.

    Return what is found, and the end of what was read.
    """
    begin, end = part
    plain, starts = _plain(text, part, form)
    found = [*search(plain), *spans_within(plain, search, depth - 1)]
    first, last = begin > 0, end < len(text)
    if any((first and not at) or (last and to == len(plain)) for at, to in found):
        wider = max(0, 2 * begin - end), min(len(text), 2 * end - begin)
        return _in_part(text, wider, form, search, depth)
    return [(starts[at], starts[to]) for at, to in found], end


def _plain(text: str, part: Span, form: _Form) -> tuple[str, list[int]]:
    """Return a part of a text without escapes, and where each character stood."""
    escape, said = form
    at, end = part
    pieces: list[str] = []
    starts: list[int] = []
    for match in escape.finditer(text, at, end):
        pieces.append(text[at : match.start()])
        starts.extend(range(at, match.start()))
        plain = said(match)
        pieces.append(plain)
        starts.extend([match.start()] * len(plain))
        at = match.end()
    pieces.append(text[at:end])
    starts.extend(range(at, end + 1))
    return "".join(pieces), starts


def _percent(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _escape(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    return match[3] if digits is None else chr(int(digits, 16))


def _entity(match: re.Match[str]) -> str:
    return html.unescape(f"&{match[1]};")


def _nothing(_: re.Match[str]) -> str:
    return ""


_FORMS: Final[tuple[_Form, ...]] = (
    (_PERCENT, _percent),
    (_ESCAPE, _escape),
    (_ENTITY, _entity),
    (_NOTHING, _nothing),
)


def _holds(raw: bytes, search: Search, depth: int) -> bool:
    """Tell whether the search finds anything in bytes, packed or not."""
    with suppress(NotDecodableError):  # a text may begin like something packed
        raw = decoded(raw, packing_of(raw))
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
        if len(slice_) < LEAST_PIECE - 4:
            return
        try:
            yield b64decode(slice_ + "=" * (-len(slice_) % 4))
        except (binascii.Error, ValueError, zlib.error):
            continue


SHORTEST: Final = 4
"""A shorter value stands in every other text by chance."""

_ESCAPED: Final = re.compile(r"[%\\&+=]")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+=*")
_NAMED: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}


class Forms:
    """The forms of some secrets. It never shows them."""

    __slots__ = ("_base64", "_escaped", "_plain")

    def __init__(self, secrets: Iterable[str]) -> None:
        values = sorted(set(secrets), key=len, reverse=True)
        if values and len(values[-1]) < SHORTEST:
            raise ScrubbingError(
                f"a secret this short (length {len(values[-1])}) turns up in other"
                f" texts by chance: give one of at least {SHORTEST}, or leave it out"
            )
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


T = TypeVar("T")

TURNS: Final = 10


class Finder:
    """Finds the given secrets and what looks like a key."""

    __slots__ = ("_forms",)

    def __init__(self, secrets: Iterable[str]) -> None:
        self._forms = Forms(secrets)

    def spans(self, text: str) -> list[Span]:
        """Return where something must be replaced, in order and not overlapping."""
        return merged([*self._found(text), *spans_within(text, self._found)])

    def _found(self, text: str) -> Iterator[Span]:
        yield from self._forms.spans(text)
        yield from shape_spans(text)

    def known(self, text: str) -> bool:
        """Tell whether one of the given secrets stands there, in any form."""
        search = self._forms.spans
        return any(True for _ in (*search(text), *spans_within(text, search)))

    def clean(self, text: str) -> str:
        """Return the text with placeholders."""
        return settled(lambda each: edited([each], self.spans(each))[0], text)


def settled(clean: Callable[[T], T], value: T) -> T:
    """Clean a value until that changes nothing.

    A placeholder may end one secret and begin what looks like another. It takes a few
    turns; a value that still changes then is refused where it would be written.
    """
    for _ in range(TURNS):
        found = clean(value)
        if found == value:
            break
        value = found
    return value


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, those that touch as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif start < end:
            found.append((start, end))
    return found


def edited(pieces: Sequence[str], spans: Sequence[Span]) -> list[str]:
    """Return pieces of one text without the spans of that text.

    The placeholder goes where a span begins; what it has in later pieces is taken out.
    """
    whole = list(_edits(pieces, spans))
    return ["".join(parts) for parts in whole]


def _edits(pieces: Sequence[str], spans: Sequence[Span]) -> Iterator[list[str]]:
    begin = 0
    for piece in pieces:
        end, at = begin + len(piece), begin
        parts: list[str] = []
        for start, stop in spans:
            if stop <= begin or start >= end:
                continue
            parts.append(piece[at - begin : max(start, begin) - begin])
            parts.extend([PLACEHOLDER] if start >= begin else [])
            at = min(stop, end)
        parts.append(piece[at - begin :])
        yield parts
        begin = end
