"""Texts in which nothing is hidden: what no one could see or write is spelled out.

It stands alone, so that a command that refuses a line loads nothing else for it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

# C0 and C1, line and paragraph separators, what turns the direction of writing, and the
# two that XML does not take.
_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)


def plain(text: str) -> str:
    """Return a text in one line, with what no one could see or write spelled out."""
    written = text.encode("utf-8", "backslashreplace").decode()
    return _UNSEEN.sub(lambda found: _escape(found.group()), written)


def visible(text: str) -> str:
    """Return a text of any lines as a terminal may be given it: none moves a cursor."""
    return re.sub(r"[^\n\t]+", lambda line: plain(line[0]), text)


def write_text(path: Path, text: str) -> None:
    """Write a file; raises OSError, which a full disk does not say the path of."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _escape(character: str) -> str:
    number = ord(character)
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    return short or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")
