"""Probes in the branches of a module's functions, and which arms its worlds have taken.

A module is instrumented when it is imported: each arm of a branch inside a function
gets a probe, which puts the arm's number into a set. What the code means, its line
numbers, docstrings and ``inspect.getsource`` stay as they are. Code at module level
runs at import and is left alone (verdicts, Migration: branches of each hook body).

Who asks how sharp a verdict is has probes before statements as well, in a child of its
own: what a change of a line would do is looked for in worlds that reach it, and code
that a change made endless is ended after so many steps, the same on every machine.
"""

from __future__ import annotations

import ast
import builtins
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final, cast

from refengine.testing.compare_probes import Comparisons
from refengine.testing.json_values import is_list
from refengine.testing.probe_syntax import PROBE, Probes, located
from refengine.testing.small_changes import apply_change

STEP: Final = "__refengine_line__"
"""The probe is a builtin, as that of arms is."""


class TooManyStepsError(BaseException):
    """A session took more steps than it may; no Exception, lest it is handled."""


class Lines:
    """The lines that were reached, and how many statements were begun.

    If they ``follow`` what a world sees, the last place before each thing it saw, too.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.steps: int = 0
        self.reached: set[tuple[str, int]] = set()
        self._places: list[tuple[str, int, str]] = []
        self._count: Callable[[], int] | None = None
        self._last: dict[int, int] = {}

    @property
    def last(self) -> Sequence[tuple[int, str, int, str]]:
        """How much had been seen, and file, line and function of what was last then."""
        return [(seen, *self._places[at]) for seen, at in self._last.items()]

    def follow(self, count: Callable[[], int]) -> None:
        """Put down from now on what is done before each thing that is seen.

        ``count`` says how much was seen so far.
        """
        if count != self._count:
            self._last.clear()
        self._count = count

    def install(self) -> None:
        """Make the probe known to all code of this process."""
        setattr(builtins, STEP, self._step)

    def anew(self) -> None:
        """Count from the beginning."""
        self.steps = 0
        self.reached.clear()
        self._count = None
        self._last.clear()

    def forget(self) -> None:
        """Forget all places: modules are imported anew."""
        self._places.clear()

    def probed(self, tree: ast.Module, file: str) -> ast.Module:
        """Return a module with a probe before each statement in its functions."""
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(node, file, node.name)
        return tree

    def _function(self, node: ast.AST, file: str, name: str) -> None:
        for inner in ast.iter_child_nodes(node):
            if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(inner, file, name)
        for field in ("body", "orelse", "finalbody"):
            block: Any = getattr(node, field, None)
            if is_list(block) and not isinstance(node, ast.ClassDef):
                setattr(node, field, self._block(block, (file, name), node))

    def _block(
        self, block: Sequence[ast.stmt], where: tuple[str, str], of: ast.AST
    ) -> list[ast.stmt]:
        """Put a probe before each statement; a docstring stays where it is."""
        made: list[ast.stmt] = []
        for each in block:
            if made or not _is_docstring(each, of):
                made.append(self._probe(each, *where))
            made.append(each)
        return made

    def _probe(self, at: ast.stmt, file: str, name: str) -> ast.stmt:
        self._places.append((file, at.lineno, name))
        number = ast.Constant(len(self._places) - 1)
        call = ast.Call(ast.Name(STEP, ast.Load()), [number], [])
        return located(ast.Expr(call), at)

    def _step(self, number: int) -> None:
        """Remember a place; raises TooManyStepsError."""
        self.steps += 1
        file, line, _ = self._places[number]
        self.reached.add((file, line))
        if self._count is not None:
            self._last[self._count()] = number
        if self.limit is not None and self.steps > self.limit:
            raise TooManyStepsError


def _is_docstring(node: ast.stmt, of: ast.AST) -> bool:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(of, functions) and is_text


@dataclass(frozen=True, slots=True)
class Arm:
    """One way a branch can go: ``file`` relative to the subject's folder."""

    id: int
    file: str
    line: int
    text: str


class Branches:
    """The arms of all instrumented modules, and those that were taken.

    With ``lines``, statements have probes, too. ``change`` is a file and the number of
    a small change of it, which is made before it is compiled.
    With ``comparisons``, what is compared in them is put down, too.
    """

    def __init__(self) -> None:
        self.comparisons: Comparisons | None = None
        self.arms: list[Arm] = []
        self.taken: set[int] = set()
        self.lines: Lines | None = None
        self.change: tuple[str, int] | None = None
        self._lock = threading.Lock()

    def install(self) -> None:
        """Make the probe known to all code of this process."""
        setattr(builtins, PROBE, self.taken.add)
        if self.lines is not None:
            self.lines.install()
        if self.comparisons is not None:
            self.comparisons.install()

    def anew(self) -> None:
        """Forget what was taken, reached and compared."""
        self.taken.clear()
        if self.lines is not None:
            self.lines.anew()
        if self.comparisons is not None:
            self.comparisons.seen = {}

    def forget(self) -> None:
        """Forget all arms and places: modules are imported anew."""
        self.arms.clear()
        if self.lines is not None:
            self.lines.forget()

    def compiled(self, source: bytes, path: str, file: str) -> CodeType:
        """Compile a module with probes, or plainly where that fails.

        Raises SyntaxError and the like, as importing the module does.
        """
        change = None
        if self.change is not None and self.change[0] == file:
            change = self.change[1]
        try:
            # Modules may be imported in several threads, and each arm has one number.
            with self._lock:
                return self._instrumented(source, path, file, change)
        except Exception:
            if change is not None:  # what is asked for is the changed one
                raise
            # Without arms is better than not at all.
            return compile(source, path, "exec", dont_inherit=True)

    def _instrumented(
        self, source: bytes, path: str, file: str, change: int | None
    ) -> CodeType:
        tree = cast(
            "ast.Module",
            compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True),
        )
        if change is not None:
            apply_change(tree, change)
        if self.lines is not None:
            tree = self.lines.probed(tree, file)
        first = len(self.arms)
        probes = Probes(first)
        made = cast("ast.Module", probes.visit(tree))
        if self.comparisons is not None:
            made = self.comparisons.instrumented(made, file)
        code = compile(made, path, "exec", dont_inherit=True)
        found = enumerate(probes.arms, first)
        self.arms += [Arm(number, file, line, text) for number, (line, text) in found]
        return code
