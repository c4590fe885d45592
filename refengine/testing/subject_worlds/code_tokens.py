"""What sources in Go, TypeScript and JavaScript hold of words, read by their tokens.

Comments, texts, numbers, names and operators are enough to know what is compared with,
looked for and counted to, without a compiler of the language. Which tokens there are,
each language says for itself. Of scripts, what stands in a template is read as what
stands outside of one, and a slash is a regular expression where no value stands before.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from refengine.testing.subject_worlds.named_values import (
    BY_TYPE,
    MOST,
    NEAR,
    GraphWords,
    Option,
    Value,
    is_given,
)
from refengine.testing.subject_worlds.source import (
    LARGEST,
    LATER,
    LONGEST,
    PARSES,
    TIMES,
    TRIMS,
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
        elif token.kind == "name" and token.text in TRIMS:
            found.trims = True
        elif token.kind == "name" and token.text in PARSES:
            found.parses = True
        elif token.kind == "name" and token.text in TIMES:
            found.times = True
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
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


# Go

GO_TOKEN: Final = re.compile(
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
GO: Final = Grammar(
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
    pattern=lambda regex, _: (regex.replace(r"\z", r"\Z"), int(re.ASCII)),
)
TAG: Final = re.compile(r'\w+:"')
"""How the tag of a field of a struct begins, which is not a word of a subject's."""
ADK: Final = "google.golang.org/adk/"
"""What a source that builds agents of adk-go imports."""
GO_STATE: Final = re.compile(
    r"\b[Ss]tate(?:\(\))?\.(?:Get|Set)\(\s*(?:\"([^\"\\]+)\"|(\w+))"
)
GO_NAMED: Final = re.compile(r"\b(\w+)\s*(?:string\s*)?:?=\s*\"([^\"\\]+)\"")
GO_STRUCT: Final = re.compile(r"\bstruct\s*\{")
GO_FIELD: Final = re.compile(
    r"(?:^|;)\s*([A-Z]\w*(?:\s*,\s*[A-Z]\w*)*)\s+[\w\[\]*.]+[ \t]*"
    r'(?:`[^`]*?json:"(\w[\w-]*)[^`]*`)?',
    re.MULTILINE,
)
"""A field of a struct: its names, and what a tag calls it in JSON."""
FIELD: Final = 2
"""The rank of a field's name: as of a text that is only shown."""
GO_AGENT: Final = re.compile(r"agent\.Config\{[^{}]*?\bName:\s*\"([^\"\\]+)\"")
COUNTED: Final = re.compile(r"\.\((?:u?int|float)\d*\)|case (?:u?int|float)\d*\b")
"""How a source takes what a state holds for a number."""


def go_words(source: str) -> SourceWords:
    """Return the words of a source in Go; names of fields are keys of arguments."""
    found = words_of([*_without_go_imports(_go_tokens(source))], GO)
    for name in _go_fields(source):
        found.texts.setdefault(name, FIELD)
    return found


def _go_fields(source: str) -> Iterator[str]:
    """Yield what JSON calls the exported fields of the structs in a source."""
    for opened in GO_STRUCT.finditer(source):
        for names, tagged in GO_FIELD.findall(_go_block(source, opened.end())):
            said = [tagged] if tagged else re.split(r"\s*,\s*", names)
            yield from (each[:1].lower() + each[1:] for each in said)


def _go_block(source: str, start: int) -> str:
    """Return what stands in brackets that are open at a place, up to their end."""
    depth = 1
    for found in re.finditer("[{}]", source[start:]):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return source[start : start + found.start()]
    return source[start:]


def is_adk_go(source: str) -> bool:
    """Tell whether a source in Go builds agents of adk-go."""
    return ADK in source


def adk_go_words(sources: Iterable[str]) -> GraphWords:
    """Return what these sources say of the worlds of agents of adk-go."""
    texts = list(sources)
    agents = dict.fromkeys(name for each in texts for name in GO_AGENT.findall(each))
    keys = dict.fromkeys(key for each in texts for key in _state_keys(each))
    values = _go_values(texts)
    return GraphWords(
        options=tuple(Option(key, values) for key in keys)[:MOST],
        agents=tuple(agents)[:MOST],
        adk=True,
    )


def _go_tokens(source: str) -> Iterator[Token]:
    for found in GO_TOKEN.finditer(source):
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


def _without_go_imports(tokens: Iterable[Token]) -> Iterator[Token]:
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
    names = dict(GO_NAMED.findall(source))
    for text, name in GO_STATE.findall(source):
        key: str = text or names.get(name, "")
        if is_given(key):
            yield key


def _go_values(sources: Sequence[str]) -> tuple[Value, ...]:
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


# TypeScript and JavaScript

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


TOOL: Final = re.compile(
    r"""(?:(\w+)|["']([\w.-]+)["'])\s*:\s*(?:dynamicTool|tool)\s*\("""
    r"""|\btool\s*\(.*?\bname\s*:\s*["']([\w.-]+)["']""",
    re.DOTALL,
)
"""How a script names a tool of its own: by its key, or in what it says of it."""


def _pattern(regex: str, flags: str) -> tuple[str, int]:
    """Return a regular expression of JavaScript, and its flags, as Python has them."""
    regex = NAMED.sub(r"(?P=\1)", GROUP.sub("(?P<", regex))
    regex = CODE_POINT.sub(lambda at: f"\\U{int(at[1], 16):08x}", regex)
    known = (FLAGS[each] for each in flags if each in FLAGS)
    return regex.replace("[^]", r"[\s\S]"), int(sum(known, re.ASCII))


SCRIPT: Final = Grammar(
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
    return words_of([*_without_imports(_tokens(source))], SCRIPT)


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


def script_tools(source: str) -> frozenset[str]:
    """Return the names of the tools that such a source makes."""
    return frozenset("".join(each) for each in TOOL.findall(source))


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
        is_value = before.kind in VALUES | {"pattern"} or before.text in CLOSING
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
