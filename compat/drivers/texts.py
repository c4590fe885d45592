"""Frames as bytes, also where a text is not valid Unicode.

Half of a surrogate pair has no place in UTF-8, and languages whose texts are UTF-8
would replace it. So on the wire it is U+10FFFF, which stands for no character, and the
four hex digits of the half; U+10FFFF itself is written the same way. A driver carries
such a text as it is, and may join it with others: nothing in it depends on what stands
around.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

ESCAPE: Final = "\U0010ffff"
"""Begins what stands for half of a pair."""

_LONE: Final = re.compile(f"[\ud800-\udfff{ESCAPE}]")
_ESCAPED: Final = re.compile(
    rf"(?:{ESCAPE}|\\u[dD][bB][fF]{{2}}\\u[dD][fF]{{3}})([0-9a-f]{{4}})"
)
_ITSELF: Final = "ffff"

_read: Final = json.JSONDecoder().decode
_write: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encoded(frame: Mapping[str, object]) -> bytes:
    """Return a frame as a line."""
    text = _write(frame)
    try:
        line = text.encode()
    except UnicodeEncodeError:
        line = _LONE.sub(_escape, text).encode()
    else:
        if ESCAPE in text:
            line = _LONE.sub(_escape, text).encode()
    return line + b"\n"


def decoded(line: bytes) -> Any:  # noqa: ANN401  # any JSON
    """Return what a line says; raises ValueError, or RecursionError."""
    text = line.decode()
    if ESCAPE in text or ("\\u" in text and "\\udb" in text.lower()):
        text = _ESCAPED.sub(_unescape, text)
    return _read(text)


def _escape(match: re.Match[str]) -> str:
    half = match[0]
    return ESCAPE + (_ITSELF if half == ESCAPE else f"{ord(half):04x}")


def _unescape(match: re.Match[str]) -> str:
    digits = match[1]
    return ESCAPE if digits == _ITSELF else chr(int(digits, 16))
