"""Worlds about where a text stands that a subject's source looks for.

In an earlier turn of a thread and no longer in this one, and across each length that
the source counts to: who keeps that it was there, or cuts before he looks, is told by
that alone. Sides that no search looks on for have these from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.notation import encoded
from refengine.testing.subject_worlds.kit import (
    LONGEST,
    Data,
    answer,
    long_text,
    shapes_of,
)
from refengine.testing.subject_worlds.turns import DONE, GO
from refengine.testing.subject_worlds.words import Words, matching

FAMILY: Final = "matches"
MATCHES: Final = 4
"""So many texts that match are put somewhere, each of another expression."""
LENGTHS: Final = 3
"""Across so many of the source's numbers, those that matter most."""
SHORTEST: Final = 8
"""A smaller number counts something else than characters."""
NAMES: Final = 3


def match_worlds(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield the worlds; none of a source without an expression."""
    found = [text for each in words.patterns for text in matching(each)[:1]]
    matches = [*dict.fromkeys(found)][:MATCHES]
    for at, text in enumerate(matches):
        yield FAMILY, _earlier(words, text, at)
    numbers = [n for n in words.numbers if SHORTEST <= n <= LONGEST][:LENGTHS]
    for text, length in product(matches, numbers):
        yield FAMILY, _across(words, text, length)


def _earlier(words: Words, text: str, at: int) -> Data:
    """Return a world of a thread in which a text is said in the first turn alone."""
    names = words.some_names[:NAMES]
    said = [shapes_of(text)[2], "go", shapes_of(text)[0], "go on"]
    runs: list[Data] = [{"input": [f"user:{encoded(each)}"]} for each in said]
    for run in runs[1:]:
        run["continues"] = True
    script: list[str] = []
    for turn in range(len(runs)):
        calls = [ToolCall(f"m{at}-{turn}-{name}", name, "{}") for name in names]
        script += [answer("", calls), DONE]
    return {"agent": {"tools": _tools(names)}, "model_script": script, "runs": runs}


def _across(words: Words, text: str, length: int) -> Data:
    """Return a world in which tools give a text at, across and behind a length."""
    name = words.some_names[0]
    before = (
        0,
        max(0, length - len(text) // 2 - 1),
        max(0, length - len(text)),
        length,
    )
    results = [long_text(n) + f" {text} " + long_text(length) for n in before]
    tool: Data = {"name": name, "by_call": {}}
    script: list[str] = []
    for at, result in enumerate(results):
        tool["by_call"][f"x{at}"] = [encoded(result)]
        script += [answer("", [ToolCall(f"x{at}", name, "{}")])]
    runs: list[Data] = [{"input": [*GO]}]
    runs += [{"input": [f"user:{encoded(each)}"]} for each in results[:2]]
    return {"agent": {"tools": [tool]}, "model_script": [*script, DONE], "runs": runs}


def _tools(names: Sequence[str]) -> list[Data]:
    return [{"name": name, "result": "ok"} for name in dict.fromkeys(names)]
