"""The pieces of syntax of which probes are made.

``probe(n)`` returns None. So it can stand before any value, ``probe(n) or value``,
without a change to what the value is, to where it is awaited, or to how often its
truth is asked.
"""

from __future__ import annotations

import ast
from typing import Final, TypeVar

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
