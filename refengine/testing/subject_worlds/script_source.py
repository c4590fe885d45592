"""What one source in TypeScript or JavaScript holds of words.

It is read by its tokens, without Node: what stands in a template is read as what stands
outside of one, and a slash is a regular expression where no value stands before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from refengine.testing.subject_worlds.code_tokens import (
    CLOSING,
    Grammar,
    Token,
    words_of,
)
from refengine.testing.subject_worlds.source import SourceWords

SUFFIXES: Final = (".ts", ".mts", ".cts", ".js", ".mjs", ".cjs")
"""How names of such sources end."""
PIECES: Final = (
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<number>0[xXoObB]\w+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?n?)"
    r"|(?P<name>(?:[^\W\d]|\$)[\w$]*)"
    r"|(?P<line>\n)"
)
SIGN: Final = r"|(?P<sign>=>|[=!]==?|[<>]=|\S)"
PATTERN: Final = (
    r"|(?P<pattern>/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/(?P<flags>[a-z]*))"
)
AFTER_VALUE: Final = re.compile(PIECES + SIGN, re.DOTALL)
ELSEWHERE: Final = re.compile(PIECES + PATTERN + SIGN, re.DOTALL)
"""Where a slash divides, and where it begins a regular expression."""
TEMPLATE: Final = re.compile(r"((?:[^`\\$]|\\.|\$(?!\{))*)(`|\$\{|\Z)", re.DOTALL)
"""The text of a template, up to its end or to what is put into it."""
VALUES: Final = frozenset(("text", "number", "pattern"))
NO_VALUES: Final = frozenset(
    (
        *("await", "case", "delete", "do", "else", "extends", "in", "instanceof"),
        *("new", "of", "return", "throw", "typeof", "void", "yield"),
    )
)
"""Names behind which an expression begins."""
ESCAPE: Final = re.compile(
    r"\\(?:u\{([\da-fA-F]{1,8})\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|(\r\n|.))",
    re.DOTALL,
)
ESCAPED: Final = MappingProxyType(
    dict(zip("ntrbfv0", "\n\t\r\b\f\v\0", strict=True)) | {"\n": "", "\r\n": ""}
)
GROUP: Final = re.compile(r"\(\?<(?![=!])")
NAMED: Final = re.compile(r"\\k<(\w+)>")
CODE_POINT: Final = re.compile(r"\\u\{([\da-fA-F]{1,6})\}")
FLAGS: Final = MappingProxyType({"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL})
ERROR: Final = re.compile(r"[A-Z]\w*Error")
CATCHING: Final = re.compile(r"^catch$|retr(?:y|ies)", re.IGNORECASE)


def _pattern(regex: str, flags: str) -> tuple[str, int]:
    """Return a regular expression of JavaScript, and its flags, as Python has them."""
    regex = NAMED.sub(r"(?P=\1)", GROUP.sub("(?P<", regex))
    regex = CODE_POINT.sub(lambda at: f"\\U{int(at[1], 16):08x}", regex)
    known = (FLAGS[each] for each in flags if each in FLAGS)
    return regex.replace("[^]", r"[\s\S]"), int(sum(known))


GRAMMAR: Final = Grammar(
    # Of strings, arrays, maps, sets and expressions.
    looked_for=frozenset(
        (
            *("includes", "startsWith", "endsWith", "indexOf", "lastIndexOf", "search"),
            *("split", "replace", "replaceAll", "match", "matchAll", "has", "get"),
            *("test", "localeCompare", "Set"),
        )
    ),
    regex=frozenset(("RegExp",)),
    declares=frozenset(("const", "let", "var")),
    pattern=_pattern,
)


def script_words(source: str) -> SourceWords:
    """Return the words of a source in TypeScript or JavaScript."""
    return words_of([*_without_imports(_tokens(source))], GRAMMAR)


def script_errors(source: str) -> Iterator[str]:
    """Yield the classes of errors that such a source tells apart.

    They stand behind ``instanceof``, or are looked for as texts, by ``name`` mostly.
    One that catches whatever comes, or has somebody try again, speaks of ``Error``.
    """
    tokens = _tokens(source)
    for before, token in pairwise([Token("line", "\n"), *tokens]):
        name = token.value if token.kind == "text" else ""
        if before.text == "instanceof":
            name = token.text
        if ERROR.fullmatch(name):
            yield name
    if any(each.kind == "name" and CATCHING.search(each.text) for each in tokens):
        yield "Error"


def _tokens(source: str) -> Sequence[Token]:
    """Return the tokens of a source; those within a template are between its texts."""
    try:
        return [*_Reader(source).tokens()]
    except RecursionError:  # templates within templates
        return []


class _Reader:
    """Reads a source from its beginning."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._before = Token("line", "\n")

    def tokens(self, *, nested: bool = False) -> Iterator[Token]:
        """Yield the tokens up to the end, or to a brace that was not opened here."""
        depth = 0
        while found := self._pattern().search(self._source, self._at):
            self._at = found.end()
            depth += (found[0] == "{") - (found[0] == "}")
            if found[0] == "`":
                yield from self._template()
            elif found.lastgroup != "comment":
                yield self._seen(_token(found))
            if nested and depth < 0:
                return

    def _template(self) -> Iterator[Token]:
        while text := TEMPLATE.match(self._source, self._at):
            self._at = text.end()
            yield self._seen(Token("text", f"`{text[1]}`", _unescaped(text[1])))
            if text[2] != "${":
                return
            yield self._seen(Token("sign", "${"))
            yield from self.tokens(nested=True)

    def _pattern(self) -> re.Pattern[str]:
        before = self._before
        is_value = before.kind in VALUES or before.text in CLOSING
        if before.kind == "name":
            is_value = before.text not in NO_VALUES
        return AFTER_VALUE if is_value else ELSEWHERE

    def _seen(self, token: Token) -> Token:
        if token.kind != "line":
            self._before = token
        return token


def _token(found: re.Match[str]) -> Token:
    kind, text = found.lastgroup or "", found[0]
    if kind != "pattern":
        return Token(kind, text, _unescaped(text[1:-1]) if kind == "text" else "")
    flags = found["flags"]
    return Token(kind, text, *_pattern(text[1 : -1 - len(flags)], flags))


def _without_imports(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield tokens without names of modules: behind ``from`` or ``import``."""
    before: Sequence[str] = ("", "")
    for token in tokens:
        named = before[-1] in {"from", "import"} or (
            before[-1] == "(" and before[0] in {"import", "require"}
        )
        if not (named and token.kind == "text"):
            yield token
        before = (before[-1], token.text)


def _unescaped(text: str) -> str:
    """Return what a text stands for that is written with escapes."""
    plain = ESCAPE.sub(_character, text)
    try:  # two escapes may be one character
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return plain


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return ESCAPED.get(found[4], found[4])
