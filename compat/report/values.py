"""Two values beside each other, so that what differs between them can be seen.

A long value is cut, but not where the two differ. Values that look alike, because a
space ends one or a character has no shape, are shown with escapes.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from compat.report.story import LONGEST, message_line, plain, short
from refengine.testing.json_values import is_mapping
from refengine.testing.trace import MISSING

Row: TypeAlias = "tuple[str, str]"  # a mark ("-", "+" or " ") and a text

AROUND: Final = 30
"""So many characters are shown before and after what differs."""
WHOLE: Final = 400
"""So many characters that differ are shown; the JSON report has all of them."""


def both(old: object, new: object) -> tuple[str, str]:
    """Return two values in a line each."""
    if MISSING in (old, new):
        return _alone(old), _alone(new)
    texts = _one_line(old), _one_line(new)
    if texts[0] == texts[1]:
        texts = _json(old), _json(new)
    if texts[0] == texts[1]:  # such as a list and a tuple
        old_type, new_type = type(old).__name__, type(new).__name__
        return f"{texts[0]} ({old_type})", f"{texts[1]} ({new_type})"
    return beside(*texts)


def beside(old: str, new: str) -> tuple[str, str]:
    """Return two texts in a line each, cut where they are equal only."""
    if _looks(old) == _looks(new):
        old, new = _escaped(old), _escaped(new)
    else:
        old, new = plain(old), plain(new)
    if max(len(old), len(new)) <= LONGEST:
        return old, new
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    return _cut(old, start, end), _cut(new, start, end)


def rows_beside(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield lines with their marks; those that stand for each other cut alike."""
    blocks = [[*some] for _, some in groupby(rows, lambda row: row[0])]
    at = 0
    while at < len(blocks):
        lost = blocks[at]
        added = blocks[at + 1] if at + 1 < len(blocks) else []
        at += 1
        if lost[0][0] != "-" or not added or added[0][0] != "+":
            yield from ((mark, short(text)) for mark, text in lost)
            continue
        at += 1
        pairs = [beside(one[1], other[1]) for one, other in zip(lost, added)]  # noqa: B905  # the rest follows
        rest = len(pairs)
        yield from (("-", text) for text, _ in pairs)
        yield from (("-", short(text)) for _, text in lost[rest:])
        yield from (("+", text) for _, text in pairs)
        yield from (("+", short(text)) for _, text in added[rest:])


def _alone(value: object) -> str:
    return MISSING if value == MISSING else short(_one_line(value))


def _one_line(value: object) -> str:
    if is_mapping(value) and "role" in value:
        return message_line(value)
    return _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _common(old: str, new: str) -> int:
    """Return with how many equal characters two texts begin."""
    at = 0
    while at < min(len(old), len(new)) and old[at] == new[at]:
        at += 1
    return at


def _cut(text: str, start: int, end: int) -> str:
    """Leave out what both have in common, but for a little, and the middle of more."""
    until = len(text) - end
    first, last = max(start - AROUND, 0), min(until + AROUND, len(text))
    before = f"…({first} more)…" if first else ""
    after = f"…({len(text) - last} more)…" if last < len(text) else ""
    middle = text[first:last]
    if len(middle) > WHOLE:
        half = WHOLE // 2
        middle = f"{middle[:half]}…({len(middle) - 2 * half} more)…{middle[-half:]}"
    return f"{before}{middle}{after}"


def _looks(text: str) -> str:
    """Return what is left of a text for the eye."""
    folded = unicodedata.normalize("NFKC", text)
    seen = "".join(
        " " if each.isspace() else each
        for each in folded
        if each.isspace() or unicodedata.category(each)[0] != "C"
    )
    return " ".join(seen.split())


def _escaped(text: str) -> str:
    """Return a text with an escape for all that is not plain ASCII, in quotes."""
    if text[:1] in {'"', "{", "["}:  # JSON, whose texts have quotes
        return "".join(c if " " <= c <= "~" else json.dumps(c)[1:-1] for c in text)
    return json.dumps(text)
