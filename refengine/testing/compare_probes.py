"""Probes at comparisons: which values a subject's own code compares, and how it went.

They are asked for by who steers worlds towards an edge; else a module has none of them
and costs what it did. What is compared is put down while it is: numbers, short texts
and the beginning of collections, the first few times in each world. They stand inside
functions only, as those of branches do, and what an expression is worth stays the same
(verdicts, Migration).
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from refengine.testing.probe_syntax import Scopes, located, shown

COMPARE: Final = "__refengine_compare__"
"""The probe is a builtin, as that of branches is."""
TIMES: Final = 10
"""So many comparisons at one site are put down in one world, and the last."""
SHORT: Final = 160
"""Of a longer text the beginning is kept."""
MOST: Final = 8
"""So many values of a collection are kept."""

Value: TypeAlias = "float | str | list[float | str] | None"
Seen: TypeAlias = "list[Value | bool]"

WORK: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
        "in": lambda left, right: left in right,
        "not in": lambda left, right: left not in right,
    }
)
SIGNS: Final[Mapping[type[ast.cmpop], str]] = MappingProxyType(
    {
        ast.Lt: "<",
        ast.LtE: "<=",
        ast.Gt: ">",
        ast.GtE: ">=",
        ast.Eq: "==",
        ast.NotEq: "!=",
        ast.In: "in",
        ast.NotIn: "not in",
    }
)
OF_TEXTS: Final = frozenset(
    ("startswith", "endswith", "find", "index", "count", "removeprefix", "split")
)
OF_PATTERNS: Final = frozenset(
    ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn")
)
WATCHED: Final = OF_TEXTS | OF_PATTERNS | {"get"}
BOUNDS: Final = frozenset(("min", "max"))


@dataclass(frozen=True, slots=True)
class CompareSite:
    """A place where own code compares: ``file`` relative to the subject's folder."""

    id: int
    file: str
    line: int
    text: str


@dataclass(slots=True)
class Comparisons:
    """The sites of all instrumented modules, and what this world compared there."""

    sites: list[CompareSite] = field(default_factory=list[CompareSite])
    seen: dict[int, list[Seen]] = field(default_factory=dict[int, list[Seen]])

    def install(self) -> None:
        """Make the probe known to all code of this process."""
        setattr(builtins, COMPARE, _Probe(self))

    def instrumented(self, tree: ast.Module, file: str) -> ast.Module:
        """Return the tree of a module with probes."""
        puts = _Puts(len(self.sites))
        made = cast("ast.Module", puts.visit(tree))
        found = enumerate(puts.sites, len(self.sites))
        self.sites += [CompareSite(n, file, line, text) for n, (line, text) in found]
        return made

    def note(self, site: int, left: object, right: object, outcome: object) -> None:
        """Put down one comparison; what cannot be shown shortly is left out."""
        try:
            one, other = _small(left), _small(right)
            if one is None and other is None:
                return
            entry: Seen = [one, other, bool(outcome)]
        except Exception:  # noqa: BLE001  # a subject's own values may do anything
            return
        some = self.seen.setdefault(site, [])
        some[TIMES:] = []
        some.append(entry)


class _Probe:
    """What stands in own code; each method is worth what the code was without it."""

    def __init__(self, into: Comparisons) -> None:
        self._into = into

    def compare(self, site: int, signs: Sequence[str], *values: Any) -> object:  # noqa: ANN401  # a subject's values
        """Return what a comparison, or a chain of them, gives."""
        outcome: object = True
        for sign, (left, right) in zip(signs, pairwise(values), strict=True):
            outcome = WORK[sign](left, right)
            self._into.note(site, left, right, _truth(outcome))
            if len(signs) > 1 and not outcome:
                break
        return outcome

    def method(self, site: int, owner: Any, name: str) -> object:  # noqa: ANN401  # a subject's values
        """Return a method; of those that look for something, one that is watched."""
        found = getattr(owner, name)
        if isinstance(owner, str) and name in OF_TEXTS:
            return self._watched(site, found, lambda given: (owner, given[0]))
        keyed: object = owner
        if isinstance(owner, Mapping) and name == "get":
            return self._watched(site, found, lambda given: (given[0], keyed))
        if name in OF_PATTERNS and (owner is re or isinstance(owner, re.Pattern)):
            at = (owner is re) + name.startswith("sub")
            return self._watched(site, found, lambda given: (given[at], None))
        return found

    def part(self, site: int, value: Any, at: slice) -> object:  # noqa: ANN401  # a subject's values
        """Return a slice of a value; a bound is compared with its length."""
        sized: object = value
        if isinstance(sized, (str, list, tuple)):
            for bound in (at.start, at.stop):
                if isinstance(bound, int):
                    length = len(cast("Sequence[object]", sized))
                    self._into.note(site, length, abs(bound), length > abs(bound))
        return value[at]

    def bound(self, site: int, name: str, left: Any, right: Any) -> object:  # noqa: ANN401  # a subject's values
        """Return the smaller or the larger of two."""
        outcome = min(left, right) if name == "min" else max(left, right)
        self._into.note(site, left, right, outcome is left)
        return outcome

    def _watched(
        self,
        site: int,
        found: Callable[..., object],
        values: Callable[[tuple[Any, ...]], tuple[object, object]],
    ) -> Callable[..., object]:
        def watched(*given: Any, **named: Any) -> object:  # noqa: ANN401  # a subject's values
            outcome = found(*given, **named)
            try:
                left, right = values(given)
            except IndexError:  # given by name
                return outcome
            self._into.note(site, left, right, _found(outcome))
            return outcome

        return watched


def _found(outcome: object) -> bool:
    """Tell whether something was found, by what each of the methods returns."""
    return outcome != -1 and bool(outcome)


def _truth(outcome: object) -> bool:
    return outcome if isinstance(outcome, bool) else False


def _small(value: object) -> Value:
    """Return a value as JSON shows it shortly; None if it is of no use."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value if math.isfinite(value) and abs(value) <= 10**15 else None
    if isinstance(value, str):
        return value[:SHORT]
    if isinstance(value, (list, tuple, set, frozenset, Mapping)):
        some = islice(cast("Iterable[object]", value), MOST)
        small: list[float | str] = [
            each for each in map(_small, some) if isinstance(each, (str, int, float))
        ]
        return sorted(small, key=str) if isinstance(value, (set, frozenset)) else small
    return None


# The second base says nothing new, but to a linter: here names are those of nodes.
class _Puts(Scopes, ast.NodeTransformer):
    """Puts probes of comparisons into functions."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.sites: list[tuple[int, str]] = []
        self._first = first

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Put down both sides; identity has nothing to be near to."""
        text = shown(node)
        self.generic_visit(node)
        signs = [SIGNS.get(type(op)) for op in node.ops]
        if not self.inside or None in signs:
            return node
        names = ast.Tuple([ast.Constant(sign) for sign in signs], ast.Load())
        values = [names, node.left, *node.comparators]
        return self._call(node, "compare", text, values)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Watch methods that look for something, and bounds."""
        text = shown(node)
        self.generic_visit(node)
        called = node.func
        if not self.inside:
            return node
        if isinstance(called, ast.Attribute) and called.attr in WATCHED:
            name = ast.Constant(called.attr)
            node.func = self._call(called, "method", text, [called.value, name])
        elif isinstance(called, ast.Name) and called.id in BOUNDS and _of_two(node):
            name = ast.Constant(called.id)
            return self._call(node, "bound", text, [name, *node.args])
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Watch slices that are read."""
        text = shown(node)
        self.generic_visit(node)
        at = node.slice
        if not self.inside or not isinstance(at, ast.Slice):
            return node
        if not isinstance(node.ctx, ast.Load):
            return node
        ends = [each or ast.Constant(None) for each in (at.lower, at.upper, at.step)]
        made = ast.Call(ast.Name("slice", ast.Load()), ends, [])
        return self._call(node, "part", text, [node.value, made])

    def _call(
        self, at: ast.expr, name: str, text: str, values: Sequence[ast.expr]
    ) -> ast.Call:
        self.sites.append((at.lineno, text))
        site = ast.Constant(self._first + len(self.sites) - 1)
        probe = ast.Attribute(ast.Name(COMPARE, ast.Load()), name, ast.Load())
        return located(ast.Call(probe, [site, *values], []), at)


def _of_two(node: ast.Call) -> bool:
    starred = any(isinstance(each, ast.Starred) for each in node.args)
    return len(node.args) == 2 and not node.keywords and not starred
