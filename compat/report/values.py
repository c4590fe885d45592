"""Two values beside each other, so that what differs between them can be seen.

A long value is cut, but not where the two differ. Values that look alike, because a
space ends one or a character has no shape, are shown with escapes.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from compat.report import plain_text
from compat.report.story import LONGEST, message_line
from refengine.testing.json_values import is_message
from refengine.testing.trace import MISSING

Row: TypeAlias = "tuple[str, str]"  # a mark ("-", "+" or " ") and a text
Beside: TypeAlias = "tuple[str, str, str]"  # of old, "|" where they differ, of new

AROUND: Final = 30
"""So many equal characters are shown as they are; more of them are counted."""
WHOLE: Final = 400
"""So many characters that differ are shown; the JSON report has all of them."""
BREAK: Final = "⏎"
"""Stands for a line break."""
_BREAKS: Final = re.compile(r"\r\n|\n|\r")
_HEAD: Final = re.compile(r"\w+(?: '[^']*')?(?: \([^()]*\))?: ")
"""How the line of a message begins: whose it is."""


def one_line(text: str) -> str:
    """Return a text in one line, each line break in it a sign."""
    return plain_text.plain(_BREAKS.sub(BREAK, text))


def brief(text: str, longest: int = LONGEST) -> str:
    """Return a text in one line; of a long one its beginning, and its length."""
    line = one_line(text)
    if len(line) <= longest:
        return line
    return f"{line[: longest // 2]}… ({len(text):,} characters)"


def both(old: object, new: object) -> tuple[str, str]:
    """Return two values in a line each."""
    if MISSING in (old, new):
        return alone(old), alone(new)
    if isinstance(old, str) and isinstance(new, str) and not _looks_alike(old, new):
        return in_quotes(old, new)
    texts = _told(old), _told(new)
    if texts[0] == texts[1]:
        texts = _json(old), _json(new)
    if texts[0] == texts[1]:  # such as a list and a tuple
        old_type, new_type = type(old).__name__, type(new).__name__
        return f"{texts[0]} ({old_type})", f"{texts[1]} ({new_type})"
    return beside(*texts)


def in_quotes(old: str, new: str) -> tuple[str, str]:
    """Return two texts in a line each, in quotes where they are short enough."""
    lines = beside(old, new)
    if _looks_alike(old, new) or max(len(old), len(new)) > LONGEST:
        return lines
    return f'"{lines[0]}"', f'"{lines[1]}"'


def alone(value: object) -> str:
    """Return one value in a line, or that there is none."""
    return MISSING if value == MISSING else brief(_told(value))


def beside(old: str, new: str) -> tuple[str, str]:
    """Return two texts in a line each, cut where they are equal only."""
    lines = one_line(old), one_line(new)
    if _looks_alike(old, new):
        lines = _escaped(old), _escaped(new)
    if max(map(len, lines)) <= LONGEST:
        return lines
    whose = [_HEAD.match(each) for each in lines]
    head = whose[0][0] if whose[0] and whose[1] and whose[0][0] == whose[1][0] else ""
    old, new = (each[len(head) :] for each in lines)
    start = common_start(old, new)
    end = common_start(old[start:][::-1], new[start:][::-1])
    return head + _cut(old, start, end), head + _cut(new, start, end)


def rows_beside(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield lines with their marks; those that stand for each other cut alike."""
    blocks = [[*some] for _, some in groupby(rows, lambda row: row[0])]
    at = 0
    while at < len(blocks):
        lost = blocks[at]
        added = blocks[at + 1] if at + 1 < len(blocks) else []
        at += 1
        if lost[0][0] != "-" or not added or added[0][0] != "+":
            yield from ((mark, brief(text)) for mark, text in lost)
            continue
        at += 1
        pairs = [beside(one[1], other[1]) for one, other in zip(lost, added)]  # noqa: B905  # the rest follows
        rest = len(pairs)
        yield from (("-", text) for text, _ in pairs)
        yield from (("-", brief(text)) for _, text in lost[rest:])
        yield from (("+", text) for _, text in pairs)
        yield from (("+", brief(text)) for _, text in added[rest:])


def columns(rows: Sequence[Row], width: int) -> list[str]:
    """Return lines with old on the left and new on the right; none if one is too long.

    ``|`` stands between those that differ.
    """
    pairs = paired(rows)
    half = (width - len(" | ")) // 2
    if any(max(len(left), len(right)) > half for left, _, right in pairs):
        return []
    wide = max((len(left) for left, _, _ in pairs), default=0)
    return [f"{left:{wide}} {sign} {right}".rstrip() for left, sign, right in pairs]


def paired(rows: Sequence[Row]) -> list[Beside]:
    """Return lines as old, ``|`` where they differ, and new."""
    pairs: list[Beside] = []
    lost: list[str] = []
    for mark, text in (*rows, (" ", "")):
        if mark == "-":
            lost.append(text)
        elif mark == "+":
            pairs.append((lost.pop(0) if lost else "", "|", text))
        else:
            pairs += [(each, "|", "") for each in lost]
            lost.clear()
            pairs.append((text, " ", text))
    pairs.pop()
    return pairs


def _told(value: object) -> str:
    if is_message(value):
        return message_line(value)
    return _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def common_start(old: str, new: str) -> int:
    """Return with how many equal characters two texts begin."""
    at = 0
    while at < min(len(old), len(new)) and old[at] == new[at]:
        at += 1
    return at


def _cut(text: str, start: int, end: int) -> str:
    """Count what both have in common, but for a little, and show what is between."""
    until = len(text) - end
    first = start if start > AROUND else 0
    last = until if end > AROUND else len(text)
    between = text[first:last]
    if len(between) > WHOLE:
        half = WHOLE // 2
        length = f"({len(between):,} characters)"
        between = f"{between[:half]}… {length} …{between[-half:]}"
    parts = [
        f"the same {first:,} characters" if first else "",
        f'"{between}"' if between else "",
        f"the same {len(text) - last:,} characters" if last < len(text) else "",
    ]
    found = ", then ".join(each for each in parts if each)
    return found if between else f"only {found}"


def _looks_alike(old: str, new: str) -> bool:
    """Tell whether an eye sees no difference, once line breaks are shown."""
    seen = (_looks(_BREAKS.sub(BREAK, each)) for each in (old, new))
    return next(seen) == next(seen)


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
