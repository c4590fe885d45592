"""Probes before each statement: which lines a world reached, and when it is too long.

They are put in for whoever asks how sharp a verdict is, in a child of its own: what a
change of a line would do is looked for in worlds that reach it, and code that a change
made endless is ended after so many steps, which are the same on every machine.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import Any, Final

from refengine.testing.json_values import is_list
from refengine.testing.probe_syntax import located

STEP: Final = "__refengine_line__"
"""The probe is a builtin, as that of arms is."""


class TooManyStepsError(BaseException):
    """A session took more steps than it may; no Exception, lest it is handled."""


class Lines:
    """The lines that were reached, and how many statements were begun."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.steps = 0
        self.reached: set[tuple[str, int]] = set()
        self._places: list[tuple[str, int]] = []

    def install(self) -> None:
        """Make the probe known to all code of this process."""
        setattr(builtins, STEP, self._step)

    def anew(self) -> None:
        """Count from the beginning."""
        self.steps = 0
        self.reached.clear()

    def probed(self, tree: ast.Module, file: str) -> ast.Module:
        """Return a module with a probe before each statement in its functions."""
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(node, file)
        return tree

    def _function(self, node: ast.AST, file: str) -> None:
        for inner in ast.iter_child_nodes(node):
            if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(inner, file)
        for field in ("body", "orelse", "finalbody"):
            block: Any = getattr(node, field, None)
            if is_list(block) and not isinstance(node, ast.ClassDef):
                setattr(node, field, self._block(block, file, node))

    def _block(
        self, block: Sequence[ast.stmt], file: str, of: ast.AST
    ) -> list[ast.stmt]:
        """Put a probe before each statement; a docstring stays where it is."""
        made: list[ast.stmt] = []
        for each in block:
            if made or not _is_docstring(each, of):
                made.append(self._probe(each, file))
            made.append(each)
        return made

    def _probe(self, at: ast.stmt, file: str) -> ast.stmt:
        self._places.append((file, at.lineno))
        number = ast.Constant(len(self._places) - 1)
        call = ast.Call(ast.Name(STEP, ast.Load()), [number], [])
        return located(ast.Expr(call), at)

    def _step(self, number: int) -> None:
        """Remember a place; raises TooManyStepsError."""
        self.steps += 1
        self.reached.add(self._places[number])
        if self.limit is not None and self.steps > self.limit:
            raise TooManyStepsError


def _is_docstring(node: ast.stmt, of: ast.AST) -> bool:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(of, functions) and is_text
