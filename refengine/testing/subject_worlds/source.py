"""One source in Python, parsed once: its words, and what names in it stand for.

Whoever reads a subject's source reads this; nothing is imported.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import add, mul, sub
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeVar

from refengine.testing.subject_worlds.words import Pattern

Key = TypeVar("Key", str, int, Pattern)

LONGEST: Final = 1_000
"""Of a longer text the beginning is kept."""
LARGEST: Final = 10**9
RE_CALLS: Final = frozenset(
    (
        *("compile", "search", "match", "fullmatch", "sub", "subn", "split"),
        *("findall", "finditer"),
    )
)
FLAGS: Final = {name: int(flag) for name, flag in re.RegexFlag.__members__.items()}
METACHARACTER: Final = re.compile(r"[\\\[\](){}|*+?^$]")
ESCAPE: Final = re.compile(r"\\[dDsSwWbBAZ.]")
ASKED: Final = frozenset(
    (
        *("startswith", "endswith", "find", "count", "index", "replace", "split"),
        *("removeprefix", "removesuffix", "get", "partition", "strip"),
    )
)
"""Methods of texts and dictionaries: what they are given is looked for."""
FOLDS: Final = frozenset(("lower", "upper", "casefold"))
"""Methods after which the case of a text counts for nothing."""
TRIMS: Final = FOLDS | {
    *("strip", "lstrip", "rstrip"),
    *("TrimSpace", "Trim", "TrimLeft", "TrimRight", "TrimFunc", "Fields"),
    *("ToLower", "ToUpper", "EqualFold"),
    *("trim", "trimStart", "trimEnd", "toLowerCase", "toUpperCase", "localeCompare"),
}
"""Names, in each language, of what trims texts or folds their case."""
TIMES: Final = frozenset(
    ("now", "utcnow", "time", "monotonic", "perf_counter", "Now", "Since")
)
"""Names, in each language, of what says what time it is."""
PARSES: Final = frozenset(
    ("loads", "model_validate_json", "validate_json", "JSON", "Unmarshal", "NewDecoder")
)
"""Names, in each language, of what reads texts as JSON."""
FOLDED: Final = 40
"""A longer text is not one that is compared without its case."""
LATER: Final = 2
"""The rank of a word that is only written somewhere; one that is asked for has 0."""


@dataclass(slots=True)
class SourceWords:
    """The words of one source, each with its rank: 0 matters most."""

    texts: dict[str, int] = field(default_factory=dict[str, int])
    patterns: dict[Pattern, int] = field(default_factory=dict[Pattern, int])
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    factors: set[int] = field(default_factory=set[int])
    divides: bool = False
    cases: set[str] = field(default_factory=set[str])
    """Those of the texts that stand for another one, in the other case."""
    trims: bool = False
    parses: bool = False
    """Whether it reads texts as JSON."""
    times: bool = False
    """Whether it asks what time it is."""


@dataclass(frozen=True)
class PythonSource:
    """A source and its tree, None of one that does not parse."""

    text: str | bytes
    tree: ast.Module | None

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """All nodes of the tree, the outer ones first."""
        return () if self.tree is None else tuple(ast.walk(self.tree))

    @cached_property
    def assigned(self) -> Mapping[str, ast.expr]:
        """What names stand for, the last assignment of each."""
        given: dict[str, ast.expr] = {}
        for node in self.nodes:
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AnnAssign):
                targets = [node.target]
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                names = [each.id for each in targets if isinstance(each, ast.Name)]
                given.update(dict.fromkeys(names, node.value))
        return given

    @property
    def bound(self) -> Iterator[tuple[str, ast.expr]]:
        """Each name that is given a value alone, or within an expression, with it."""
        for node in self.nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    yield name, value
                case ast.NamedExpr(target=ast.Name(id=name), value=value):
                    yield name, value
                case _:
                    pass

    @property
    def imported(self) -> Iterator[ast.Import | ast.ImportFrom]:
        """The imports, anywhere in it."""
        imports = (ast.Import, ast.ImportFrom)
        return (node for node in self.nodes if isinstance(node, imports))


@lru_cache(maxsize=64)
def python_source(text: str | bytes) -> PythonSource:
    """Return a source with its tree, which is not to be changed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the subject's own escapes
            return PythonSource(text, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PythonSource(text, None)


def python_sources(texts: Iterable[str]) -> list[PythonSource]:
    """Return those of these sources that parse."""
    return [each for each in map(python_source, texts) if each.tree is not None]


def modules_of(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield what the imports among these name: modules, and what may be one in them."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


class Lookup(NamedTuple):
    """Where something is looked for by a key: in what, and what it is without it."""

    how: Literal["item", "stored", "get", "setdefault", "getattr", "in"]
    holder: ast.expr
    key: ast.expr
    defaults: Sequence[ast.expr] = ()


def lookup_of(node: ast.AST) -> Lookup | None:  # noqa: PLR0911  # a table: one return a kind
    """Return how a node looks for a key, if it does."""
    match node:
        case ast.Subscript(value=holder, slice=key, ctx=ctx):
            stores = isinstance(ctx, ast.Store)
            return Lookup("stored" if stores else "item", holder, key)
        case ast.Compare(left=key, ops=[ast.In(), *_], comparators=[holder, *_]):
            return Lookup("in", holder, key)
        case ast.Call(func=ast.Attribute(attr="get") as func, args=[key, *more]):
            return Lookup("get", func.value, key, more)
        case ast.Call(func=ast.Attribute(attr="setdefault") as func, args=[key, *more]):
            return Lookup("setdefault", func.value, key, more)
        case ast.Call(args=[holder, key, *more]) if named(node.func) == "getattr":
            return Lookup("getattr", holder, key, more)
        case ast.BoolOp(op=ast.Or(), values=[first, *others]):  # state.get("n") or 0
            found = lookup_of(first)
            return found and found._replace(defaults=(*found.defaults, *others))
        case _:
            return None


def constant_of(node: ast.AST | None) -> object:
    """Return the value that is written there, None if there is none."""
    return node.value if isinstance(node, ast.Constant) else None


def text_of(node: ast.AST | None) -> str:
    """Return the text that is written there, "" if there is none."""
    value = constant_of(node)
    return value if isinstance(value, str) else ""


def named(node: ast.expr) -> str:  # noqa: PLR0911  # a table: one return a kind
    """Return the last name of what a value is taken from."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        # config.get("configurable", {}).get(…), or runtime.context.copy()
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant):
            return str(first.value)
        return named(node.func.value) if node.func.attr == "copy" else ""
    if isinstance(node, ast.Call) and node.args:  # dict(runtime.context), cast(…, x)
        return named(node.args[-1])
    if isinstance(node, ast.BoolOp):  # (runtime.context or {}).get(…)
        return named(node.values[0])
    if isinstance(node, ast.IfExp):  # runtime.context if runtime else {}
        return named(node.body)
    return ""


def found_in(text: str) -> SourceWords:
    """Return the words of a source; of one that does not parse, none."""
    found = SourceWords()
    source = python_source(text)
    if source.tree is not None:
        try:
            reader = _Reader(found, re.split("\r\n|\r|\n", text), source.assigned)
            reader.visit(source.tree)
            reader.add_cases()
        except (ValueError, RecursionError, MemoryError):
            return SourceWords()
    return found


def _rank_of(node: ast.AST) -> int:
    """Return how much words in a node matter: most, if it compares or names them."""
    if isinstance(node, (ast.Compare, ast.match_case)):
        return 0
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return 0 if node.func.attr in ASKED | RE_CALLS else LATER
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return 0 if node.targets[0].id.isupper() else LATER
    if isinstance(node, (ast.Set, ast.List, ast.Tuple, ast.Dict, ast.Subscript)):
        return 1
    return LATER


def _number_of(node: ast.expr) -> float | None:
    """Return a number that is written here, or worked out from written ones."""
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return value if abs(value) <= LARGEST else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number_of(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp):
        left, right = _number_of(node.left), _number_of(node.right)
        if left is not None and right is not None:
            return _worked_out(node.op, left, right)
    return None


def _worked_out(op: ast.operator, left: float, right: float) -> float | None:
    """Return what an operator gives; powers and shifts only of small numbers."""
    if isinstance(op, (ast.Pow, ast.LShift)):
        if not (0 <= left <= 1_024 and 0 <= right <= 30):
            return None
        return left**right if isinstance(op, ast.Pow) else int(left) << int(right)
    if isinstance(op, ast.FloorDiv):
        return left // right if right else None
    work = _WORK.get(type(op))
    return None if work is None else work(left, right)


_WORK: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = (
    MappingProxyType({ast.Add: add, ast.Sub: sub, ast.Mult: mul})
)


def _flags_of(call: ast.Call) -> int:
    """Return the flags among the arguments of a call of ``re``."""
    flags = 0
    for given in [*call.args[1:], *(each.value for each in call.keywords)]:
        for node in ast.walk(given):
            name = node.attr if isinstance(node, ast.Attribute) else ""
            flags |= FLAGS.get(node.id if isinstance(node, ast.Name) else name, 0)
    return flags & ~int(re.DEBUG)


class _Reader(ast.NodeVisitor):
    """Collects words; ``_rank`` is that of where it is now."""

    def __init__(
        self, found: SourceWords, lines: list[str], constants: Mapping[str, ast.expr]
    ) -> None:
        self._found = found
        self._lines = lines
        self._constants = constants
        self._rank: int = LATER
        self._folds = False

    def visit(self, node: ast.AST) -> None:
        before: int = self._rank
        self._rank = min(before, _rank_of(node))
        super().visit(node)
        self._rank = before

    def visit_Constant(self, node: ast.Constant) -> None:  # ast's name
        self._number(_number_of(node))
        if isinstance(node.value, str):
            self._text(node.value)
            raw = self._is_raw(node) and METACHARACTER.search(node.value)
            if raw or ESCAPE.search(node.value):
                self._pattern(node.value, 0)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:  # ast's name
        # Where the parts of one stand in the source depends on the Python.
        for part in node.values:
            if isinstance(part, ast.Constant):
                self._text(str(part.value))
            else:
                self.visit(part)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:  # ast's name
        self._worked_out(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:  # ast's name
        text = self._text_of(node)
        if text is not None:
            self._text(text)
        elif isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mult, ast.Mod)):
            factors = [_number_of(self._resolved(n)) for n in (node.left, node.right)]
            self._found.divides = True
            self._found.factors |= {int(n) for n in factors if n and 1 < n <= 1_000}
        self._worked_out(node)

    def visit_Call(self, node: ast.Call) -> None:  # ast's name
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else ""
        name = called.id if isinstance(called, ast.Name) else name
        self._folds = self._folds or name in FOLDS
        self._found.trims = self._found.trims or name in TRIMS
        self._found.parses = self._found.parses or name in PARSES
        self._found.times = self._found.times or name in TIMES
        given = [*node.args, *(k.value for k in node.keywords if k.arg == "pattern")]
        text = self._text_of(given[0]) if name in RE_CALLS and given else None
        if text is not None and _is_re(called):
            self._pattern(text, _flags_of(node))
        self.generic_visit(node)

    def add_cases(self) -> None:
        """Add texts in the other case, where the source folds the cases of some."""
        if self._folds:
            for text, rank in list(self._found.texts.items()):
                other = text.swapcase()
                if other not in self._found.texts and len(text) <= FOLDED:
                    put(self._found.texts, other, rank)
                    self._found.cases.add(other)

    def visit_Expr(self, node: ast.Expr) -> None:  # ast's name
        # A text that stands alone is a docstring, or says nothing.
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:  # ast's name
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Leave out what an annotation says."""

    def _worked_out(self, node: ast.UnaryOp | ast.BinOp) -> None:
        number = _number_of(node)
        self._number(None if number is None else abs(number))
        if number is None:
            self.generic_visit(node)

    def _text(self, text: str) -> None:
        if text.strip():
            put(self._found.texts, text[:LONGEST], self._rank)

    def _number(self, number: float | None) -> None:
        if number is not None and 0 <= number <= LARGEST:
            for each in (int(number), -int(-number // 1)):
                put(self._found.numbers, each, self._rank)

    def _pattern(self, regex: str, flags: int) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(regex, flags)
        except (re.error, ValueError, OverflowError, RecursionError):
            return
        known = [each for each in self._found.patterns if each.regex == regex]
        if flags or not known:
            put(self._found.patterns, Pattern(regex, flags), self._rank)
        if flags:  # the same literal, seen without the call that has them, says less
            self._found.patterns.pop(Pattern(regex), None)

    def _is_raw(self, node: ast.Constant) -> bool:
        line = self._lines[node.lineno - 1].encode()
        return line[node.col_offset :][:1] in {b"r", b"R"}

    def _resolved(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            return self._constants.get(node.id, node)
        return node

    def _text_of(self, node: ast.expr) -> str | None:
        """Return a text that is written here, or put together from written ones."""
        node = self._resolved(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._text_of(node.left), self._text_of(node.right)
            return None if left is None or right is None else left + right
        return None


def put(found: dict[Key, int], word: Key, rank: int) -> None:
    """Note a word, with the best rank that it has."""
    found[word] = min(found.get(word, LATER), rank)


def _is_re(called: ast.expr) -> bool:
    if isinstance(called, ast.Name):
        return called.id != "compile"  # the one of re is seldom imported by itself
    owner = called.value if isinstance(called, ast.Attribute) else called
    return isinstance(owner, ast.Name) and owner.id in {"re", "regex"}
