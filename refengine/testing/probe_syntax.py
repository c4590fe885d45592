"""The syntax of probes: what they are made of, in which code, and those of branches.

``probe(n)`` returns None. So it can stand before any value, ``probe(n) or value``,
without a change to what the value is, to where it is awaited, or to how often its
truth is asked.

Probes stand inside functions only. What a function's head holds is evaluated outside,
and annotations are left alone since
``from __future__ import annotations`` turns them into text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar, cast

from refengine.testing.filled import asked_loops, filled_names, is_filled
from refengine.testing.handed import Handed

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
        self.inside: bool = False
        self.flags: bool = False

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
        self._filled: Mapping[str, ast.expr] = {}
        self._handed = Handed(ast.Module([], []))
        self._asked: frozenset[ast.AST] = frozenset()

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Look for what is never empty, and what hooks are handed, first."""
        self._filled = filled_names(node)
        self._handed = Handed(node)
        self._asked = frozenset(asked_loops(node.body))
        return self.generic_visit(node)

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
        always = is_filled(node.iter, self._filled)
        always |= node in self._asked or self._handed.is_messages(node.iter)
        yes, no = self._loop_arms(node, text, always=always)
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
        """Turn ``a and b`` into ``b if a else False``, and ``a or b`` likewise.

        An operand that certainly goes on has no arm for where it ends.
        """
        every = isinstance(node.op, ast.And)
        sign, end = ("and", "false") if every else ("or", "true")
        stops = [
            None
            if self._handed.certain(each) is every
            else self._arm(each, f"{shown(each)} {sign} …: {end}")
            for each in node.values[:-1]
        ]
        reached = list(self._reached(node))
        *tests, result = [self._test(each) for each in node.values]
        for test, stop, go in reversed(list(zip(tests, stops, reached, strict=True))):
            further = result if go is None else probe_then(go, result)
            ends = self._end(stop, test, every=every)
            ways = (further, ends) if every else (ends, further)
            result = located(ast.IfExp(test, *ways), node)
        return result

    def _end(self, arm: int | None, at: ast.expr, *, every: bool) -> ast.expr:
        """Return what a condition is where an operand ends it."""
        if arm is None:
            return located(ast.Constant(not every), at)
        return probe_false(arm, at) if every else probe_true(arm, at)

    def _reached(self, node: ast.BoolOp) -> Iterator[int | None]:
        """Yield the arm of each further operand, None where one before it ends."""
        every = isinstance(node.op, ast.And)
        sign, ended = "and" if every else "or", False
        for before, each in pairwise(node.values):
            ended = ended or self._handed.certain(before) is (not every)
            text = f"… {sign} {shown(each)}: reached"
            yield None if ended else self._arm(each, text)

    # Arms

    def _branches(self, test: ast.expr) -> bool:
        """Tell whether there are two ways; what is certain has one."""
        one_way = is_constant(test) or self._handed.certain(test) is not None
        return self.inside and not one_way

    def _arms(self, at: ast.AST, text: str, yes: str, no: str) -> tuple[int, int]:
        return self._arm(at, f"{text}: {yes}"), self._arm(at, f"{text}: {no}")

    def _loop_arms(
        self, at: ast.AST, text: str, *, always: bool = False
    ) -> tuple[int, int | None]:
        """Return the ways of a loop; by one that is ``always`` entered none goes."""
        entered = self._arm(at, f"{text}: entered")
        passes = self.flags and not always
        return entered, self._arm(at, f"{text}: not entered") if passes else None

    def _arm(self, at: ast.AST, text: str) -> int:
        line = cast("int", getattr(at, "lineno"))  # noqa: B009  # not all of ast has one
        self.arms.append((line, text))
        return self._first + len(self.arms) - 1

    def _probed(
        self, arm: int, block: Sequence[ast.stmt], at: ast.AST
    ) -> list[ast.stmt]:
        """Return the block with a probe before it, on the line of its first entry."""
        return [probe_statement(arm, block[0] if block else at), *self.block(block)]
