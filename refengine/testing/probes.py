"""Probes in the branches of a module's functions, and which arms its worlds have taken.

A module is instrumented when it is imported: each arm of a branch inside a function
gets a probe, which puts the arm's number into a set. What the code means, its line
numbers, docstrings and ``inspect.getsource`` stay as they are. Code at module level
runs at import and is left alone (verdicts, Migration: branches of each hook body).
"""

from __future__ import annotations

import ast
import builtins
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, cast

from refengine.testing.compare_probes import Comparisons
from refengine.testing.line_probes import Lines
from refengine.testing.probe_syntax import (
    PROBE,
    Scopes,
    is_constant,
    is_elif,
    located,
    matches_all,
    probe_false,
    probe_statement,
    probe_then,
    probe_true,
    set_flag,
    shown,
)
from refengine.testing.small_changes import apply_change


# The second base says nothing new, but to a linter: here names are those of nodes.
class Probes(Scopes, ast.NodeTransformer):
    """Puts probes into functions; ``arms`` are the lines and texts of what it found.

    The first of them has the number ``first``.
    """

    def __init__(self, first: int) -> None:
        super().__init__()
        self.arms: list[tuple[int, str]] = []
        self._first = first
        self._elifs: set[ast.AST] = set()

    # Statements

    def visit_If(self, node: ast.If) -> ast.AST:
        """Probe both ways, also where there is no else."""
        if not self._branches(node.test):
            return self.generic_visit(node)
        word = "elif" if node in self._elifs else "if"
        yes, no = self._arms(node.test, f"{word} {shown(node.test)}", "true", "false")
        if len(node.orelse) == 1 and is_elif(node, node.orelse[0]):
            self._elifs.add(node.orelse[0])
        node.test = self._test(node.test)
        node.body = self._probed(yes, node.body, node)
        node.orelse = self._probed(no, node.orelse, node.test)
        return node

    def visit_While(self, node: ast.While) -> Any:  # noqa: ANN401  # a node or several
        """Probe whether it is entered."""
        if not self._branches(node.test):
            return self.generic_visit(node)
        text = f"while {shown(node.test)}"
        yes, no = self._loop_arms(node, text)
        node.test = self._test(node.test)
        return self._loop(node, yes, no)

    def visit_For(self, node: ast.For) -> Any:  # noqa: ANN401  # a node or several
        """Probe whether it is entered."""
        return self._for(node, "for")

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:  # noqa: ANN401  # a node or several
        """Probe whether it is entered."""
        return self._for(node, "async for")

    def _for(self, node: ast.For | ast.AsyncFor, word: str) -> Any:  # noqa: ANN401  # a node or several
        if not self.inside:
            return self.generic_visit(node)
        text = f"{word} {shown(node.target)} in {shown(node.iter)}"
        yes, no = self._loop_arms(node, text)
        node.target = self.visit(node.target)
        node.iter = self.visit(node.iter)
        return self._loop(node, yes, no)

    def _loop(
        self, node: ast.For | ast.AsyncFor | ast.While, yes: int, no: int | None
    ) -> ast.AST | list[ast.stmt]:
        """Remember in a local variable that the loop was not entered.

        Its name is none that a program can write. Wrapping the iterable would need no
        variable, but changes what is iterated; a shared flag is wrong as soon as two
        coroutines are in one loop.
        """
        node.body = self._probed(yes, node.body, node)
        node.orelse = self.block(node.orelse)
        if no is None:
            return node
        flag = f".not_entered_{no}"
        node.body.insert(0, set_flag(flag, node.body[0], to=False))
        unentered = ast.If(located(ast.Name(flag, ast.Load()), node), [], [])
        unentered.body.append(probe_statement(no, node))
        node.orelse.insert(0, located(unentered, node))
        return [set_flag(flag, node, to=True), node]

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """Probe that it is entered."""
        if not self.inside:
            return self.generic_visit(node)
        what = f"except {shown(node.type)}" if node.type else "except"
        arm = self._arm(node, f"{what}: entered")
        if node.type is not None:
            node.type = self.visit(node.type)
        node.body = self._probed(arm, node.body, node)
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Probe each case, and that none matched if that can be."""
        if not self.inside:
            return self.generic_visit(node)
        subject = shown(node.subject)
        node.subject = self.visit(node.subject)
        for case in node.cases:
            self._case(case, subject)
        last = node.cases[-1]
        if last.guard is not None or not matches_all(last.pattern):
            arm = self._arm(node, f"match {subject}: no case")
            rest = located(ast.MatchAs(), last.pattern)
            probe = probe_statement(arm, last.pattern)
            node.cases.append(ast.match_case(rest, None, [probe]))
        return node

    def _case(self, case: ast.match_case, subject: str) -> None:
        guard = f" if {shown(case.guard)}" if case.guard else ""
        text = f"match {subject}: case {shown(case.pattern)}{guard}"
        arm = self._arm(case.pattern, text)
        if case.guard is not None:
            case.guard = self._test(case.guard)
        case.body = self._probed(arm, case.body, case.pattern)

    # Expressions

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Probe both ways."""
        if not self._branches(node.test):
            return self.generic_visit(node)
        yes, no = self._arms(node.test, f"… if {shown(node.test)}", "true", "false")
        node.test = self._test(node.test)
        node.body = probe_then(yes, self.visit(node.body))
        node.orelse = probe_then(no, self.visit(node.orelse))
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Probe that each further operand is reached.

        That one is *not* is seen only where its value does not matter (``_test``):
        elsewhere the value would have to be kept in a variable, and lives too long.
        """
        if not self.inside:
            return self.generic_visit(node)
        arms = [None, *self._reached(node)]
        node.values = [
            self.visit(each) if arm is None else probe_then(arm, self.visit(each))
            for arm, each in zip(arms, node.values, strict=True)
        ]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Go into the operand; of that of ``not`` only the truth matters."""
        if self.inside and isinstance(node.op, ast.Not):
            node.operand = self._test(node.operand)
            return node
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Probe both ways of each condition."""
        if not self.inside:
            return self.generic_visit(node)
        node.target = self.visit(node.target)
        node.iter = self.visit(node.iter)
        node.ifs = [self._condition(each) for each in node.ifs]
        return node

    def _condition(self, test: ast.expr) -> ast.expr:
        """Probe the condition of a comprehension, which has no body for a probe."""
        if not self._branches(test):
            return test
        text = f"for … if {shown(test)}"
        yes, no = self._arms(test, text, "true", "false")
        return located(
            ast.IfExp(self._test(test), probe_true(yes, test), probe_false(no, test)),
            test,
        )

    def _test(self, node: ast.expr) -> ast.expr:
        """Instrument an expression of which only the truth matters."""
        if isinstance(node, ast.BoolOp):
            return self._short_circuits(node)
        return cast("ast.expr", self.visit(node))

    def _short_circuits(self, node: ast.BoolOp) -> ast.expr:
        """Turn ``a and b`` into ``b if a else False``, and ``a or b`` likewise."""
        every = isinstance(node.op, ast.And)
        sign, end = ("and", "false") if every else ("or", "true")
        stops = [
            self._arm(each, f"{shown(each)} {sign} …: {end}")
            for each in node.values[:-1]
        ]
        reached = list(self._reached(node))
        *tests, result = [self._test(each) for each in node.values]
        for test, stop, go in reversed(list(zip(tests, stops, reached, strict=True))):
            further = probe_then(go, result)
            ends = probe_false(stop, test) if every else probe_true(stop, test)
            ways = (further, ends) if every else (ends, further)
            result = located(ast.IfExp(test, *ways), node)
        return result

    def _reached(self, node: ast.BoolOp) -> Iterator[int]:
        sign = "and" if isinstance(node.op, ast.And) else "or"
        for each in node.values[1:]:
            yield self._arm(each, f"… {sign} {shown(each)}: reached")

    # Arms

    def _branches(self, test: ast.expr) -> bool:
        """Tell whether there are two ways; a constant has one."""
        return self.inside and not is_constant(test)

    def _arms(self, at: ast.AST, text: str, yes: str, no: str) -> tuple[int, int]:
        return self._arm(at, f"{text}: {yes}"), self._arm(at, f"{text}: {no}")

    def _loop_arms(self, at: ast.AST, text: str) -> tuple[int, int | None]:
        entered = self._arm(at, f"{text}: entered")
        return entered, self._arm(at, f"{text}: not entered") if self.flags else None

    def _arm(self, at: ast.AST, text: str) -> int:
        line = cast("int", getattr(at, "lineno"))  # noqa: B009  # not all of ast has one
        self.arms.append((line, text))
        return self._first + len(self.arms) - 1

    def _probed(
        self, arm: int, block: Sequence[ast.stmt], at: ast.AST
    ) -> list[ast.stmt]:
        """Return the block with a probe before it, on the line of its first entry."""
        return [probe_statement(arm, block[0] if block else at), *self.block(block)]


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
