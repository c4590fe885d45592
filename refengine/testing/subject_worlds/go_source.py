"""What one source in Go holds of words, and what agents of adk-go say of their worlds.

Go is read by its tokens: comments, texts, numbers, names and operators. That is enough
to know what is compared with, looked for and counted to, without a Go toolchain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from refengine.testing.subject_worlds.graph_source import MOST, GraphWords, Option
from refengine.testing.subject_worlds.named_values import BY_TYPE, Value
from refengine.testing.subject_worlds.source import (
    LARGEST,
    LATER,
    LONGEST,
    SourceWords,
    put,
)
from refengine.testing.subject_worlds.words import Pattern

TOKEN: Final = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<raw>`[^`]*`)"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<rune>'(?:[^'\\\n]|\\.)+')"
    r"|(?P<number>\d[\w.]*)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<line>\n)"
    r"|(?P<sign>[=!<>]=|&&|\|\||:=|\S)",
    re.DOTALL,
)
COMPARING: Final = frozenset(("==", "!=", "<", ">", "<=", ">="))
RECKONING: Final = frozenset("*/%")
LOOKED_FOR: Final = frozenset(
    (
        *("Contains", "HasPrefix", "HasSuffix", "EqualFold", "Index", "Count"),
        *("TrimPrefix", "TrimSuffix", "Trim", "Replace", "ReplaceAll", "Split", "Cut"),
    )
)
"""Functions of ``strings`` and ``slices``: what they are given is looked for."""
REGEX: Final = frozenset(("MustCompile", "Compile"))
TAG: Final = re.compile(r'\w+:"')
"""How the tag of a field of a struct begins, which is no word of a subject's."""
ADK: Final = "google.golang.org/adk/"
"""What a source that builds agents of adk-go imports."""
STATE: Final = re.compile(
    r"\b[Ss]tate(?:\(\))?\.(?:Get|Set)\(\s*(?:\"([^\"\\]+)\"|(\w+))"
)
NAMED: Final = re.compile(r"\b(\w+)\s*(?:string\s*)?:?=\s*\"([^\"\\]+)\"")
AGENT: Final = re.compile(r"agent\.Config\{[^{}]*?\bName:\s*\"([^\"\\]+)\"")
COUNTED: Final = re.compile(r"\.\((?:u?int|float)\d*\)|case (?:u?int|float)\d*\b")
"""How a source takes what a state holds for a number."""
KEPT: Final = frozenset(("app", "user"))
"""Scopes that a key of the state may name, and that a caller may give."""
NEAR: Final = 4


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a source, and what kind it is: a name of ``TOKEN``."""

    kind: str
    text: str


def go_words(source: str) -> SourceWords:
    """Return the words of a source in Go."""
    found = SourceWords()
    tokens = [*_without_imports(_tokens(source))]
    declared = [*_declared(tokens)]
    for at, token in enumerate(tokens):
        rank = _rank(tokens, at, is_declared=declared[at])
        if token.kind in {"text", "raw"}:
            _take_text(found, tokens, at, rank)
        elif token.kind == "number":
            _take_number(found, tokens, at, rank)
    return found


def is_adk_go(source: str) -> bool:
    """Tell whether a source in Go builds agents of adk-go."""
    return ADK in source


def adk_go_words(sources: Iterable[str]) -> GraphWords:
    """Return what these sources say of the worlds of agents of adk-go."""
    texts = list(sources)
    agents = dict.fromkeys(name for each in texts for name in AGENT.findall(each))
    keys = dict.fromkeys(key for each in texts for key in _state_keys(each))
    values = _values(texts)
    return GraphWords(
        options=tuple(Option(key, values) for key in keys)[:MOST],
        agents=tuple(agents)[:MOST],
        adk=True,
    )


def _tokens(source: str) -> Iterator[Token]:
    for found in TOKEN.finditer(source):
        kind = found.lastgroup or ""
        if kind != "comment":
            yield Token(kind, found[0])


def _without_imports(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield tokens without imports: one in a line, or several in brackets."""
    importing = opened = False
    for token in tokens:
        if token == Token("name", "import"):
            importing = True
        elif not importing:
            yield token
        elif token.text == "(":
            opened = True
        elif token.text == ")" or (token.kind == "line" and not opened):
            importing = opened = False


def _declared(tokens: Sequence[Token]) -> Iterator[bool]:
    """Yield of each token whether a constant or variable of the package is declared."""
    depth, inside = 0, False
    for token in tokens:
        if depth == 0 and token.text in {"const", "var"} and token.kind == "name":
            inside = True
        yield inside
        if token.kind == "sign":
            depth += (token.text in "({[") - (token.text in ")}]")
        if token.kind == "line" and depth == 0:
            inside = False


def _rank(tokens: Sequence[Token], at: int, *, is_declared: bool) -> int:
    """Return how much a word matters: most, if it is compared with or looked for."""
    around = {each.text for each in tokens[max(at - 1, 0) : at + 2]}
    if around & COMPARING or _is_case(tokens, at) or _called(tokens, at) in LOOKED_FOR:
        return 0
    return 1 if is_declared else LATER


def _is_case(tokens: Sequence[Token], at: int) -> bool:
    for token in reversed(tokens[max(at - 12, 0) : at]):
        if token.text == "case":
            return True
        if token.text != "," and token.kind not in {"text", "raw", "number"}:
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


def _take_text(found: SourceWords, tokens: Sequence[Token], at: int, rank: int) -> None:
    token = tokens[at]
    text = token.text[1:-1] if token.kind == "raw" else _unquoted(token.text)
    if text is None or not text.strip() or (token.kind == "raw" and TAG.match(text)):
        return
    if _called(tokens, at) in REGEX:
        _take_pattern(found, text)
    put(found.texts, text[:LONGEST], rank)


def _unquoted(quoted: str) -> str | None:
    """Return the text between quotes; None for one that JSON does not know, as well."""
    try:
        text: str = json.loads(quoted)
    except ValueError:
        return None
    return text


def _take_pattern(found: SourceWords, regex: str) -> None:
    regex = regex.replace(r"\z", r"\Z")  # as Python writes the end of a text
    try:
        re.compile(regex)
    except (re.error, OverflowError, RecursionError):
        return
    put(found.patterns, Pattern(regex), 0)


def _take_number(
    found: SourceWords, tokens: Sequence[Token], at: int, rank: int
) -> None:
    try:
        number = float(tokens[at].text.replace("_", ""))
    except ValueError:  # written in another base
        return
    if not 0 <= number <= LARGEST:
        return
    for each in (int(number), -int(-number // 1)):
        put(found.numbers, each, rank)
    if {each.text for each in tokens[max(at - 1, 0) : at + 2]} & RECKONING:
        found.divides = True
        found.factors |= {int(number)} if 1 < number <= 1_000 else set()


def _state_keys(source: str) -> Iterator[str]:
    """Yield the keys of a state that a source looks for, and a caller may give."""
    names = dict(NAMED.findall(source))
    for text, name in STATE.findall(source):
        key: str = text or names.get(name, "")
        scope, colon, _ = key.partition(":")
        if key and (not colon or scope in KEPT):
            yield key


def _values(sources: Sequence[str]) -> tuple[Value, ...]:
    """Return values that a session may begin with: numbers, where it is counted."""
    found = [go_words(each) for each in sources]
    if not any(COUNTED.search(each) for each in sources):
        texts = [
            text for each in found for text, rank in each.texts.items() if not rank
        ]
        return (*dict.fromkeys(texts[:MOST] or ["a"]), "", *BY_TYPE["bool"])
    ranked = sorted((rank, n) for each in found for n, rank in each.numbers.items())
    near = [n + d for _, n in ranked[:NEAR] for d in (-1, 0, 1)]
    return tuple(dict.fromkeys([*near, 0, 1]))
