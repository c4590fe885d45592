"""Worlds at the edges of a subject's words: bounds, letters, spaces, and what lasts.

Each is one in which only a port that reads a word otherwise differs: a bound of a
repetition, another text that a pattern finds, a length in bytes for one in letters, a
guard that looks before it trims, a number whose thousands have a comma, a pattern at
the edge of a cut, an object of JSON in a fence or without a key, a failure that is
remembered, or counted behind a success, a consent that outlives its turn. They are few,
and each has no more runs than a graph's world may have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

from refengine.messages import ToolCall
from refengine.testing.notation import encoded
from refengine.testing.own_tools import own
from refengine.testing.subject_worlds.kit import (
    LONGEST,
    Data,
    answer,
    fit,
    json_text,
    long_text,
)
from refengine.testing.subject_worlds.turns import DONE, GO
from refengine.testing.subject_worlds.words import Words, at_bounds, matching

FAMILY: Final = "word edges"
RUNS: Final = 8
"""A world has so many turns; a graph's may have no more than ten runs."""
WORLDS: Final = 2
"""So many worlds are made of one kind at most,"""
TRIMMED: Final = 6
"""and so many of texts behind spaces: a word to look for may stand behind many others.
"""
WORD: Final = 40
"""A longer text comes behind the others."""
OWN: Final = 3
"""So many of the subject's own tools are called in each turn."""
THOUSAND: Final = 1_000
DIGITS: Final = re.compile(r"\d+")
REPETITION: Final = re.compile(r"\{\d*,\d*\}")
NAMES: Final = 3
"""So many tools of the subject's names are called with each text,"""
KEYS: Final = 24
"""which stands under so many keys."""
SHORTEST: Final = 8
"""A smaller number is not taken for the length of a text."""
LENGTHS: Final = 4
TWO_BYTES: Final = "\u00e9"
FOUR_BYTES: Final = "\U0001f99c"
"""Two units of UTF-16."""
CONSENTS: Final = RUNS // 2
"""So many texts by which somebody may consent are in one world, two turns for each."""
FENCE: Final = "```"
"""What models put around JSON,"""
OBJECT_KEYS: Final = 4
"""which has so many keys."""
ERRORS: Final = 2
"""So many classes of errors, each by itself, fail in turn with successes."""
CALLED: Final = 12
"""So many tools are called where somebody may have consented, and where not."""


@dataclass(frozen=True, slots=True)
class TextTurn:
    """Texts in one turn: the user's, those that tools give, arguments, the answer.

    ``is_all`` says that it is all of the arguments, where it is no value in them.
    """

    user: str
    results: tuple[str, ...]
    given: str
    last: str
    is_all: bool = False


def word_edges(words: Words, *, own_tools: bool) -> Iterator[tuple[str, Data]]:
    """Yield these worlds; ``own_tools`` says whether a world may call the subject's."""
    kinds = (
        (bounds(words), WORLDS),
        (others(words), WORLDS),
        (letters(words), WORLDS),
        (trimmed(words), TRIMMED),
        (cut_matches(words), WORLDS),
        (thousands(words), WORLDS),
        (objects(words), WORLDS),
    )
    for turns, most in kinds:
        some = [*islice(turns, RUNS * most)]
        for start in range(0, len(some), RUNS):
            made = some[start : start + RUNS]
            yield FAMILY, _of_texts(words, made, own_tools=own_tools)
    yield FAMILY, failed_once(words)
    for error in words.errors[:ERRORS] or ("boom",):
        yield FAMILY, failed_in_turn(words, error)
    for texts in consents(words):
        yield FAMILY, _consented(words, texts)


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


def letters(words: Words) -> Iterator[TextTurn]:
    """Yield texts of letters of several bytes around each length of the source.

    One letter fewer than the length is too long for who counts bytes, and where these
    take four of them for who counts units of UTF-16; of a longer text, each cuts at
    another place.
    """
    for length in _lengths(words)[:LENGTHS]:
        fewer = [char * (length - 1) for char in (TWO_BYTES, FOUR_BYTES)]
        more = [f"a{char * length}" for char in (TWO_BYTES, FOUR_BYTES)]
        yield TextTurn(fewer[0], tuple(fewer), fewer[0], fewer[0])
        yield TextTurn(more[1], tuple(more), more[0], more[1])


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
    yield from map(_object, ("[1]", "null", json_text({**whole, "zz": None})))


def _has_fence(words: Words) -> bool:
    regexes = (each.regex for each in words.patterns)
    return any(FENCE in text for text in (*words.texts, *regexes))


def _object(text: str) -> TextTurn:
    return TextTurn(text, (text,), text, text, is_all=True)


def failed_in_turn(words: Words, error: str) -> Data:
    """Return a world in which a tool fails and works in turn, then fails on.

    Who counts failures in a row counts one at a time, and then all of them.
    """
    name = words.some_names[0]
    fails = (1, 3, 5, *range(7, CALLED + 1))
    body = [{"op": "error", "text": error, "on_call": each} for each in fails]
    calls = [answer("", _calls(f"i{at}-", [name], "{}")) for at in range(CALLED)]
    return {
        "agent": {"tools": [{"name": name, "result": "ok", "body": body}]},
        "model_script": [*calls, *[DONE] * RUNS],
        "runs": [{"input": [*GO]} for _ in range(RUNS)],
    }


def failed_once(words: Words) -> Data:
    """Return a world in which tools fail once, and are called again in another run.

    With equal arguments: who remembers results may remember the failure, too.
    """
    names = words.some_names[: RUNS // 2]
    fails = [{"op": "error", "text": "boom", "on_call": 1}]
    tools = [{"name": name, "result": "ok", "body": fails} for name in names]
    row = [
        [answer("", _calls(f"f{at}{n}-", [name], "{}")) for n, name in enumerate(names)]
        for at in "ab"
    ]
    # An engine whose runs end with a failure has the first row in as many runs.
    script = [*row[0], DONE, *row[1], *[DONE] * RUNS]
    runs = [{"input": [*GO]} for _ in range(RUNS)]
    return {"agent": {"tools": tools}, "model_script": script, "runs": runs}


def consents(words: Words) -> Iterator[tuple[str, ...]]:
    """Yield texts by which a user may consent: matches, and what is looked for."""
    found = [text for each in words.patterns for text in matching(each)[:1]]
    some = [*dict.fromkeys([*found, *words.texts])][: WORLDS * CONSENTS]
    for start in range(0, len(some), CONSENTS):
        yield tuple(some[start : start + CONSENTS])


def _same(text: str) -> TextTurn:
    return TextTurn(text, (text,), text, text)


def _lengths(words: Words) -> list[int]:
    return [n for n in words.numbers if SHORTEST <= n <= LONGEST]


def _of_texts(words: Words, turns: Sequence[TextTurn], *, own_tools: bool) -> Data:
    """Return a world of these turns.

    Tools that give a text come before what is given one: a guard may end the run there.
    """
    names, keys = words.some_names[:NAMES], ["q", *words.some_names[:KEYS]]
    tools = [{"name": each, "kind": "both", "result": "<args>"} for each in names]
    script: list[object] = []
    runs: list[Data] = []
    for at, turn in enumerate(turns):
        gives = [_gives(f"gives{at}x{n}", text) for n, text in enumerate(turn.results)]
        asked = _calls(f"g{at}-", [each["name"] for each in gives], "{}")
        is_all = turn.is_all and not own_tools
        given = turn.given if is_all else json_text(dict.fromkeys(keys, turn.given))
        calls = _calls(f"w{at}-", names, given)
        if own_tools:
            asks = _own_arguments(turn.given)
            calls += [ToolCall(f"o{at}-{e}", own(e), asks) for e in _own_tools(words)]
        tools += gives
        said = [answer("", asked), answer("", calls), answer(turn.last)]
        script += said
        user = f"user:{encoded(turn.user)}"
        runs.append({"input": [user], "streaming": at % 4 == 3})
    return {"agent": {"tools": tools}, "model_script": script, "runs": runs}


def _gives(name: str, text: str) -> Data:
    middle = len(text) // 2
    chunks = [encoded(text[:middle]), encoded(text[middle:])]
    return {"name": name, "kind": "both", "result": encoded(text), "chunks": chunks}


def _calls(prefix: str, names: Iterable[str], given: str) -> list[ToolCall]:
    return [ToolCall(f"{prefix}{at}", n, fit(given)) for at, n in enumerate(names)]


def _own_tools(words: Words) -> Sequence[int | str]:
    """Return those of the subject's own tools that are called: by name, if known."""
    return words.own_tools[:OWN] or (0,)


def _own_arguments(text: str) -> str:
    return fit(json_text({"integer": 1, "string": text, "optional": True}))


def _consented(words: Words, texts: Sequence[str]) -> Data:
    """Return threads whose first turn has such a text, and whose second has none.

    Each tool that the source may name is called in both.
    """
    names = words.some_names[:CALLED]
    tools = [{"name": name, "result": "ok"} for name in names]
    script: list[object] = []
    runs: list[Data] = []
    for at, text in enumerate(texts):
        for turn, said in enumerate((text, "go")):
            calls = _calls(f"s{at}-{turn}-", names, "{}")
            script += [answer("", calls), DONE]
            later = {"continues": True} if turn else {}
            runs.append({"input": [f"user:{encoded(said)}"], **later})
    return {"agent": {"tools": tools}, "model_script": script, "runs": runs}
