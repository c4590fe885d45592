"""Worlds whose messages have two texts, for frameworks whose messages have parts.

A port that reads the first part of a message, or the last, or stops at the first that
it finds something in, reads every message of one part right. So a word of the subject's
stands in the second part alone, in the first alone, and in both; and two parts have a
length that neither has. What a word is found in ends at a border, with a space before
it: who joins the parts finds no more than who reads each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.notation import BORDER, encoded
from refengine.testing.subject_worlds.kit import LONGEST, Data, answer, long_text
from refengine.testing.subject_worlds.words import Words, matching

FAMILY: Final = "parts"
RUNS: Final = 8
"""A world has so many turns at most."""
WORLDS: Final = 3
TEXTS: Final = 7
SHORTEST: Final = 8
"""A smaller number is not taken for the length of a text."""
PLAIN: Final = "one two"


def part_worlds(words: Words) -> Iterator[tuple[str, Data]]:
    """Yield these worlds: of each text three turns, in which it stands elsewhere."""
    turns = [*islice(_turns(words), RUNS * WORLDS)]
    for start in range(0, len(turns), RUNS):
        yield FAMILY, _world(words.some_names[0], turns[start : start + RUNS])


def _turns(words: Words) -> Iterator[str]:
    """Yield texts in two parts."""
    for text in _looked_for(words):
        yield _two(PLAIN, text)
        yield _two(text, PLAIN)
        yield _two(text, text)
    for number in words.numbers:
        if SHORTEST <= number <= LONGEST:
            yield _two(*[long_text(number * 2 // 3)] * 2)


def _looked_for(words: Words) -> list[str]:
    """Return what a subject looks for in texts, or neutral texts."""
    found = [text for each in words.patterns for text in matching(each)[:1]]
    regexes = {each.regex for each in words.patterns}
    texts = (each for each in words.some_texts if each not in regexes)
    return [*dict.fromkeys([*found, *texts])][:TEXTS]


def _two(first: str, second: str) -> str:
    return f"{first} {BORDER}{second}"


def _world(name: str, texts: list[str]) -> Data:
    """Return turns in which the user, and each of two answers, says such a text.

    Every second one goes on with the session of the turn before it, whose messages are
    sent once more.
    """
    script: list[object] = []
    runs: list[Data] = []
    for at, text in enumerate(texts):
        script += [answer(text, [ToolCall(f"p{at}", name, "{}")]), answer(text)]
        more = {"continues": at % 2 == 1, "streaming": at % 4 == 3}
        runs.append({"input": [f"user:{encoded(text)}"], **more})
    tools = [{"name": name, "result": "ok"}]
    return {"agent": {"tools": tools}, "model_script": script, "runs": runs}
