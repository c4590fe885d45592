"""Texts of a judgement made fit to be shown, wherever they came from.

What an engine, a tool or a model said stands in a report, and none of them is trusted:
a text may hold lone surrogates, which no file takes, or control characters, which
move a terminal's cursor and which XML forbids.
"""

from __future__ import annotations

import json
import re
from typing import Final

from pydantic import JsonValue

from compat.report.plain_text import plain
from compat.verdicts.conformance import AnyEvent, Breakdown, ClauseResult, SmokeResult
from refengine.testing.trace import MISSING

LONGEST: Final = 160
"""So many characters of one value are shown; the JSON report has all of them."""

# All that could begin a link, a picture, a table cell, a mention or a reference.
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#!|~@$]|:(?=/)|(?<=www)\.)")
_OF_ONE: Final = {"are": "is", "were": "was", "have": "has", "pass": "passes"}
_UNIX: Final = re.compile(r"(?<![\w.~/])/(?:[^\s/:'\"<>|]+/)+")
_WINDOWS: Final = re.compile(r"\b[A-Za-z]:\\(?:[^\s\\:'\"<>|]+\\)+")


def brief(text: str, longest: int = LONGEST) -> str:
    """Return a plain text, the middle of a long one left out."""
    shown = plain(text)
    if len(shown) <= longest:
        return shown
    half = max(longest // 2 - 8, 1)
    return f"{shown[:half]}…({len(shown) - 2 * half} more)…{shown[-half:]}"


def escaped(text: str) -> str:
    """Return a text in which nothing begins anything in Markdown; HTML still does."""
    return _MARKDOWN.sub(r"\\\1", text)


def plain_lines(text: str, most: int = 20) -> list[str]:
    """Return a text of several lines, as a traceback is; of a long one, the last."""
    lines = [brief(each, 200) for each in text.strip().splitlines()]
    left_out = len(lines) - most
    return (
        lines if left_out <= 0 else [f"… {counted(left_out, 'line')}", *lines[-most:]]
    )


def value_text(value: JsonValue, longest: int = LONGEST) -> str:
    """Return a value as JSON in one line; ``(nothing)`` where there is none."""
    if value == MISSING:
        return MISSING
    return brief(json.dumps(value, ensure_ascii=False, sort_keys=True), longest)


def without_paths(text: str) -> str:
    """Return a text with ``…/`` for the folders of each absolute path.

    What broke down tells where on its machine it stands. That is nobody's business, and
    the digest of two machines would differ by it.
    """
    return _WINDOWS.sub("…\\\\", _UNIX.sub("…/", text))


def cleaned(event: AnyEvent) -> AnyEvent:
    """Return an event whose free text does not tell the paths of its machine."""
    if isinstance(event, Breakdown):
        return event.model_copy(update={"text": without_paths(event.text)})
    if isinstance(event, SmokeResult):
        return event.model_copy(update={"got": without_paths(event.got)})
    if isinstance(event, ClauseResult):
        return event.model_copy(update={"reason": without_paths(event.reason)})
    return event


def counted(number: int, what: str) -> str:
    """Return a number and what it counts, in the plural unless it is one."""
    several = f"{what}es" if what.endswith("ch") else f"{what}s"
    return f"{number:,} {what if number == 1 else several}"


def does(number: int, verb: str) -> str:
    """Return the verb of so many, given in the plural, as ``show`` or ``are``."""
    return _OF_ONE.get(verb, f"{verb}s") if number == 1 else verb
