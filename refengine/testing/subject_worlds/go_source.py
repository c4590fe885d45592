"""What one source in Go holds of words, and what agents of adk-go say of their worlds.

Go is read by its tokens: comments, texts, numbers, names and operators. That is enough
to know what is compared with, looked for and counted to, without a Go toolchain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from refengine.testing.subject_worlds.code_tokens import Grammar, Token, words_of
from refengine.testing.subject_worlds.graph_source import MOST, GraphWords, Option
from refengine.testing.subject_worlds.named_values import BY_TYPE, Value
from refengine.testing.subject_worlds.source import SourceWords

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
GRAMMAR: Final = Grammar(
    # Of strings and slices.
    looked_for=frozenset(
        (
            *("Contains", "HasPrefix", "HasSuffix", "EqualFold", "Index", "Count"),
            *("TrimPrefix", "TrimSuffix", "Trim", "Replace", "ReplaceAll", "Split"),
            "Cut",
        )
    ),
    regex=frozenset(("MustCompile", "Compile")),
    declares=frozenset(("const", "var")),
    # As Python writes the end of a text.
    pattern=lambda regex, _: (regex.replace(r"\z", r"\Z"), 0),
)
TAG: Final = re.compile(r'\w+:"')
"""How the tag of a field of a struct begins, which is not a word of a subject's."""
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


def go_words(source: str) -> SourceWords:
    """Return the words of a source in Go."""
    return words_of([*_without_imports(_tokens(source))], GRAMMAR)


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
        kind, text = found.lastgroup or "", found[0]
        value = None
        if kind == "raw" and not TAG.match(text, 1):
            value = text[1:-1]
        elif kind == "text":
            value = _unquoted(text)
        if kind in {"raw", "text"}:
            yield Token("other" if value is None else "text", text, value or "")
        elif kind != "comment":
            yield Token(kind, text)


def _unquoted(quoted: str) -> str | None:
    """Return the text between quotes; None for one that JSON does not know, as well."""
    try:
        text: str = json.loads(quoted)
    except ValueError:
        return None
    return text


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
