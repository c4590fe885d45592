"""Which code is inside a function, and so may have probes.

What a function's head holds is evaluated outside, and annotations are left alone since
``from __future__ import annotations`` turns them into text.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

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
