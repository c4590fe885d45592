"""What a source that is not Python holds of words, read by its tokens.

Comments, texts, numbers, names and operators are enough to know what is compared with,
looked for and counted to, without a compiler of the language. Which tokens there are,
each language says for itself.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from refengine.testing.subject_worlds.source import (
    LARGEST,
    LATER,
    LONGEST,
    SourceWords,
    put,
)
from refengine.testing.subject_worlds.words import Pattern

COMPARING: Final = frozenset(("==", "!=", "===", "!==", "<", ">", "<=", ">="))
RECKONING: Final = frozenset("*/%")
OPENING: Final = frozenset(("(", "{", "[", "${"))
CLOSING: Final = frozenset((")", "}", "]"))
VALUES: Final = frozenset(("text", "number"))


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a source as it is written, and what kind it is.

    Of a ``text`` the ``value`` is what it stands for, of a ``pattern`` what Python's
    ``re`` takes for it, with its ``flags``. Other kinds that matter are ``number``,
    ``name``, ``sign`` and ``line``, which is the end of one.
    """

    kind: str
    text: str
    value: str = ""
    flags: int = 0


@dataclass(frozen=True, slots=True)
class Grammar:
    """What tells of a language how much its words matter.

    ``looked_for`` are functions whose arguments are looked for, ``regex`` those that
    take a regular expression; ``declares`` begins a declaration. ``pattern`` gives what
    ``re`` takes for such an expression and for its flags, each as they are written.
    """

    looked_for: frozenset[str]
    regex: frozenset[str]
    declares: frozenset[str]
    pattern: Callable[[str, str], tuple[str, int]]


def words_of(tokens: Sequence[Token], grammar: Grammar) -> SourceWords:
    """Return the words of a source, each with the rank of where it stands."""
    found = SourceWords()
    declared = [*_declared(tokens, grammar.declares)]
    for at, token in enumerate(tokens):
        rank = _rank(tokens, at, grammar.looked_for, is_declared=declared[at])
        if token.kind == "text":
            _take_text(found, tokens, at, grammar, rank)
        elif token.kind == "number":
            _take_number(found, tokens, at, rank)
        elif token.kind == "pattern":
            _take_pattern(found, token.value, token.flags)
    return found


def _declared(tokens: Sequence[Token], declares: frozenset[str]) -> Iterator[bool]:
    """Yield of each token whether a constant or variable of the file is declared."""
    depth, inside = 0, False
    for token in tokens:
        if depth == 0 and token.kind == "name" and token.text in declares:
            inside = True
        yield inside
        depth += (token.text in OPENING) - (token.text in CLOSING)
        if token.kind == "line" and depth == 0:
            inside = False


def _rank(
    tokens: Sequence[Token], at: int, looked_for: frozenset[str], *, is_declared: bool
) -> int:
    """Return how much a word matters: most, if it is compared with or looked for."""
    compared = not COMPARING.isdisjoint(_around(tokens, at))
    if compared or _is_case(tokens, at) or _called(tokens, at) in looked_for:
        return 0
    return 1 if is_declared else LATER


def _around(tokens: Sequence[Token], at: int) -> Sequence[str]:
    """Return what is written before and behind a token, and itself."""
    return [each.text for each in tokens[max(at - 1, 0) : at + 2]]


def _is_case(tokens: Sequence[Token], at: int) -> bool:
    for token in reversed(tokens[max(at - 12, 0) : at]):
        if token.text == "case":
            return True
        if token.text != "," and token.kind not in VALUES:
            return False
    return False


def _called(tokens: Sequence[Token], at: int) -> str:
    """Return the name of the function that a token is given to, "" if there is none."""
    depth = 0
    for back in range(at - 1, max(at - 24, 0), -1):
        text = tokens[back].text
        depth += (text == ")") - (text == "(")
        if depth < 0:
            return tokens[back - 1].text
        if tokens[back].kind == "line":
            return ""
    return ""


def _take_text(
    found: SourceWords, tokens: Sequence[Token], at: int, grammar: Grammar, rank: int
) -> None:
    text = tokens[at].value
    is_regex = tokens[at - 1].text == "(" and _called(tokens, at) in grammar.regex
    if is_regex:
        then = tokens[at + 1 : at + 3]
        flags = then[-1].value if then and then[0].text == "," else ""
        _take_pattern(found, *grammar.pattern(text, flags))
    if text.strip():
        put(found.texts, text[:LONGEST], rank)


def _take_pattern(found: SourceWords, regex: str, flags: int) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what a later Python reads otherwise
            re.compile(regex, flags)
    except (re.error, OverflowError, RecursionError):
        return
    put(found.patterns, Pattern(regex, flags), 0)


def _take_number(
    found: SourceWords, tokens: Sequence[Token], at: int, rank: int
) -> None:
    number = _number(tokens[at].text)
    if number is None or not 0 <= number <= LARGEST:
        return
    for each in (int(number), -int(-number // 1)):
        put(found.numbers, each, rank)
    if not RECKONING.isdisjoint(_around(tokens, at)):
        found.divides = True
        found.factors |= {int(number)} if 1 < number <= 1_000 else set()


def _number(text: str) -> float | None:
    """Return what a number stands for, in whatever base; None for one of its own."""
    text = text.replace("_", "").removesuffix("n")
    for read in (_whole, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def _whole(text: str) -> int:
    return int(text, 0)
