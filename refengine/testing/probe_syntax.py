"""The syntax of probes: what they are made of, and in which code they may stand.

``probe(n)`` returns None. So it can stand before any value, ``probe(n) or value``,
without a change to what the value is, to where it is awaited, or to how often its
truth is asked.

Probes stand inside functions only. What a function's head holds is evaluated outside,
and annotations are left alone since
``from __future__ import annotations`` turns them into text.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final, TypeVar

PROBE: Final = "__refengine_arm__"
"""The probe is a builtin: it is found from every module, and no module gets a name."""

SHOWN: Final = 60
"""So much of a condition is told."""

N = TypeVar("N", bound=ast.AST)


def located(node: N, at: ast.AST) -> N:
    """Return a new node with the place of an old one, and its parts too."""
    return ast.fix_missing_locations(ast.copy_location(node, at))


def probe_false(arm: int, at: ast.AST) -> ast.expr:
    """Return ``probe(arm)``, which is None and so false."""
    call = ast.Call(ast.Name(PROBE, ast.Load()), [ast.Constant(arm)], [])
    return located(call, at)


def probe_true(arm: int, at: ast.AST) -> ast.expr:
    """Return ``not probe(arm)``, which is true."""
    return located(ast.UnaryOp(ast.Not(), probe_false(arm, at)), at)


def probe_then(arm: int, value: ast.expr) -> ast.expr:
    """Return ``probe(arm) or value``, which is the value, whatever it is."""
    return located(ast.BoolOp(ast.Or(), [probe_false(arm, value), value]), value)


def probe_statement(arm: int, at: ast.AST) -> ast.stmt:
    """Return ``probe(arm)`` where its value is not asked for."""
    return located(ast.Expr(probe_false(arm, at)), at)


def set_flag(name: str, at: ast.AST, *, to: bool) -> ast.stmt:
    """Return ``name = to``."""
    return located(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(to)), at)


def shown(node: ast.AST) -> str:
    """Return its source, cut where it is long."""
    text = ast.unparse(node)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def is_constant(test: ast.expr) -> bool:
    """Tell whether a condition always goes one way."""
    if isinstance(test, ast.UnaryOp):
        return is_constant(test.operand)
    if isinstance(test, ast.Name):
        return test.id in {"TYPE_CHECKING", "__debug__"}
    return isinstance(test, ast.Constant)


def is_elif(node: ast.If, inner: ast.stmt) -> bool:
    """Tell whether what stands alone under ``else`` was written as ``elif``."""
    return isinstance(inner, ast.If) and inner.col_offset == node.col_offset


def matches_all(pattern: ast.pattern) -> bool:
    """Tell whether a pattern is irrefutable; no case may come after it."""
    if isinstance(pattern, ast.MatchOr):
        return matches_all(pattern.patterns[-1])
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or matches_all(pattern.pattern)
    return False


LOCALS: Final = frozenset({"locals", "vars", "dir", "exec", "eval"})
"""Where these are named, a further local variable would be seen."""


class Scopes(ast.NodeTransformer):
    """Goes through a module, and knows where it is.

    ``inside`` a function or not, and whether ``flags`` may be kept in its variables.
    """

    def __init__(self) -> None:
        self.inside = False
        self.flags = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Go into the body."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Go into the body."""
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self._each(node.decorator_list)
        self._defaults(node.args)
        outside = self.inside, self.flags
        self.inside, self.flags = True, not _names_locals(node)
        node.body = self.block(node.body)
        self.inside, self.flags = outside
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Go into the body."""
        self._defaults(node.args)
        outside, self.inside = self.inside, True
        node.body = self.visit(node.body)
        self.inside = outside
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Go into the methods: a class body runs once, and its names are attributes."""
        self._each(node.decorator_list)
        self._each(node.bases)
        outside, self.inside = self.inside, False
        node.body = self.block(node.body)
        self.inside = outside
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Go into the value."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_TypeAlias(self, node: ast.AST) -> ast.AST:
        """Leave it."""
        return node

    def _defaults(self, args: ast.arguments) -> None:
        self._each(args.defaults)
        self._each(args.kw_defaults)

    def block(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Go into statements, each of which may become several."""
        made: list[ast.stmt] = []
        for each in block:
            got: Any = self.visit(each)
            made += got if isinstance(got, list) else [got]
        return made

    def _each(self, nodes: list[Any]) -> None:
        nodes[:] = [each and self.visit(each) for each in nodes]


def _names_locals(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id in LOCALS for each in ast.walk(node)
    )
