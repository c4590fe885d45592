"""Texts at the edges of a subject's words: what a port may read otherwise.

Each is given to a subject in every place at once, a turn a text (``word_edges``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from refengine.testing.subject_worlds.kit import LONGEST, json_text, long_text
from refengine.testing.subject_worlds.words import Words, at_bounds, matching

WORLDS: Final = 2
"""So many worlds are made of one kind at most,"""
TRIMMED: Final = 6
"""and so many of texts behind spaces: a word to look for may stand behind many others.
"""
WORD: Final = 40
"""A longer text comes behind the others."""
THOUSAND: Final = 1_000
DIGITS: Final = re.compile(r"\d+")
REPETITION: Final = re.compile(r"\{\d*,\d*\}")
SHORTEST: Final = 8
"""A smaller number is not taken for the length of a text."""
LENGTHS: Final = 4
TWO_BYTES: Final = "\u00e9"
FOUR_BYTES: Final = "\U0001f99c"
"""Two units of UTF-16."""
FENCE: Final = "```"
"""What models put around JSON,"""
NUMERALS: Final = 2
"""So many numbers are arguments, and written in quotes."""
KEYS: Final = 24
"""Under so many keys a value stands in arguments: which is meant, no source says."""
OBJECT_KEYS: Final = 4
"""which has so many keys."""
PATH: Final = re.compile(r"/?(?:[\w.-]+/)*[\w.-]+/?")
"""What reads as the path of a file or folder, if there is a slash in it."""
PATHS: Final = 2
"""Of so many paths the neighbours are shown."""


@dataclass(frozen=True, slots=True)
class TextTurn:
    """Texts in one turn: the user's, those that tools give, arguments, the answer.

    ``is_all`` says that it is all of the arguments, where it is no value in them, and
    ``streamed`` are texts that tools give which do nothing but stream.
    """

    user: str
    results: tuple[str, ...]
    given: str
    last: str
    is_all: bool = False
    streamed: tuple[str, ...] = ()


def text_edges(words: Words) -> Sequence[tuple[Iterator[TextTurn], int]]:
    """Return the turns of each kind, and how many worlds may be made of it."""
    return (
        (bounds(words), WORLDS),
        (others(words), WORLDS),
        (joined(words), 1),
        (letters(words), WORLDS),
        (trimmed(words), TRIMMED),
        (cut_matches(words), WORLDS),
        (thousands(words), WORLDS),
        (numerals(words), 1),
        (objects(words), WORLDS),
        (nested(words), 1),
        (paths(words), WORLDS),
    )


def bounds(words: Words) -> Iterator[TextTurn]:
    """Yield texts at and beyond the bounds of each repetition of each pattern."""
    for pattern in words.patterns:
        for text in at_bounds(pattern):
            yield _same(text)


def others(words: Words) -> Iterator[TextTurn]:
    """Yield texts in which a pattern is found twice, each time as another text.

    Who takes the first one found out of a text, wherever it stands, leaves the other.
    """
    for pattern in words.patterns:
        first, *more = matching(pattern) or ("",)
        for text in (f"{first}, {each}" for each in more):
            if len({found[0] for found in pattern.compiled().finditer(text)}) > 1:
                yield _same(text)
                break


def joined(words: Words) -> Iterator[TextTurn]:
    """Yield texts in which texts of the source stand together, the last one first.

    Who gathers all that it finds, and in which order, is told from who ends at one.
    """
    some = [text for text in words.texts if len(text) <= WORD][::-1]
    groups = [some, *(some[at : at + 3] for at in range(0, len(some), 2))]
    for each in groups:
        if len(each) > 1:
            yield _same(" ".join(each))


def letters(words: Words) -> Iterator[TextTurn]:
    """Yield texts of letters of several bytes around each length of the source.

    One letter fewer than the length is too long for who counts bytes, and where these
    take four of them for who counts units of UTF-16; of a longer text, each cuts at
    another place.
    """
    for length in _lengths(words)[:LENGTHS]:
        fewer = [char * (length - 1) for char in (TWO_BYTES, FOUR_BYTES)]
        twice = TWO_BYTES * length  # for who looks for what was said before
        more = [f"a{char * length}" for char in (TWO_BYTES, FOUR_BYTES)]
        yield TextTurn(fewer[0], (*fewer, twice, twice), fewer[0], fewer[0])
        streamed = more[0], TWO_BYTES * 3 * length  # which goes on behind the length
        yield TextTurn(more[1], tuple(more), more[0], more[1], streamed=streamed)


def trimmed(words: Words) -> Iterator[TextTurn]:
    """Yield texts of the source behind spaces, before them, and in the other case."""
    texts = sorted(words.texts, key=lambda text: len(text) > WORD)
    for text in texts if words.trims else ():
        before, around, other = f" {text}", f"\t{text} \n", text.swapcase()
        yield TextTurn(before, (around, other), before, other)


def cut_matches(words: Words) -> Iterator[TextTurn]:
    """Yield texts with what a pattern matches at the start, at a length, behind it."""
    found = [text for each in words.patterns for text in matching(each)[:1]]
    lengths = [n for n in _lengths(words) if n > 2 * SHORTEST]
    for length, text in product(lengths[:WORLDS], found):
        rest = long_text(length)
        before = [rest[: max(length - by, 0)] for by in (len(text) // 2 + 1, 0)]
        across, behind = (f"{each} {text} {rest[:SHORTEST]}" for each in before)
        first = f"{text} {rest}"
        yield TextTurn(across, (first, across, behind), first, across)


def thousands(words: Words) -> Iterator[TextTurn]:
    """Yield numbers with a comma behind the thousands, where a source speaks of commas.

    By themselves, and in what a pattern with a number in it matches.
    """
    regexes = (REPETITION.sub("", each.regex) for each in words.patterns)
    if not any("," in text for text in regexes) and "," not in words.texts:
        return
    some = [n + 1 for n in words.numbers if n >= THOUSAND][:WORLDS]
    found = [text for each in words.patterns for text in matching(each)[:1]]
    for number in dict.fromkeys([*some, THOUSAND + THOUSAND // 2]):
        yield _same(f"{number:,}")
        for text in found:
            if DIGITS.search(text):
                yield _same(DIGITS.sub(f"{number:,}", text, count=1))


def numerals(words: Words) -> Iterator[TextTurn]:
    """Yield arguments with numbers of a source and above, and such in quotes.

    Models write them so, and who reads numbers alone from arguments finds none there.
    """
    names = words.some_names[:KEYS]
    for number in sorted(words.numbers, reverse=True)[:NUMERALS]:
        yield _same(str(number + 1))
        for each in (number + 1, number):
            yield _object(json_text(dict.fromkeys(names, each)))


def objects(words: Words) -> Iterator[TextTurn]:
    """Yield objects of JSON, where a source reads such: whole, in parts, in fences.

    Keys are texts of the source; what is no object may be JSON all the same.
    """
    if not words.parses:
        return
    keys = [each for each in words.names if each.isidentifier()][:OBJECT_KEYS]
    whole = dict.fromkeys(keys, " a ")
    yield _object(json_text(whole))
    if _has_fence(words):
        fenced = f"{FENCE}json\n{json_text(whole)}\n{FENCE}"
        yield from map(_object, (fenced, f" {fenced}\n", f"{FENCE}{{}}{FENCE}"))
    for left_out in keys:
        rest = {key: at for at, key in enumerate(keys) if key != left_out}
        yield _object(json_text(rest))
        # Who writes it anew may write letters beyond ASCII otherwise.
        yield _object(json_text({**rest, "zz": "é"}))
    yield from map(_object, ("[1]", "null", json_text({**whole, "zz": None})))


def nested(words: Words) -> Iterator[TextTurn]:
    """Yield what a pattern matches within lists and objects, one in the other.

    Who looks through what a tool gives may look into objects and not into lists.
    """
    for pattern in words.patterns:
        for text in matching(pattern)[:1]:
            inside = {"list": [text], "deep": {"list": [{"text": text}]}}
            yield _object(json_text(inside))
            yield _object(json_text([text, [text], inside]))


def paths(words: Words) -> Iterator[TextTurn]:
    """Yield paths that lead out of one that a source names, stay in it, or go on.

    Who compares beginnings without reading a path as one lets the first ones pass.
    """
    named = [each for each in words.texts if "/" in each and PATH.fullmatch(each)]
    for text in sorted(named, key=lambda each: each[0] != "/")[:PATHS]:
        root = text.rstrip("/")
        name = root.rpartition("/")[2]
        out = (f"{root}/../zz", f"{root}/zz/../../yy", f"{root}-zz/yy")
        stays = (f"{root}/./zz", f"{root}//zz", f"{root}/zz/../yy", f"{root}/")
        round_ = (f"{root}/../{name}/zz", f"zz/../{root}", f"/{root}/zz", root)
        yield from map(_same, (*out, *stays, *round_))


def _has_fence(words: Words) -> bool:
    regexes = (each.regex for each in words.patterns)
    return any(FENCE in text for text in (*words.texts, *regexes))


def _object(text: str) -> TextTurn:
    return replace(_same(text), is_all=True)


def _same(text: str) -> TextTurn:
    return TextTurn(text, (text,), text, text)


def _lengths(words: Words) -> list[int]:
    return [n for n in words.numbers if SHORTEST <= n <= LONGEST]
