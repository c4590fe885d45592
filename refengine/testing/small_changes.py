"""Small changes of a module: a numbered list, and each applied to its syntax tree.

    for change in small_changes(source): ...
    apply_change(tree, change.number)

How sharp a verdict is shows in which of them its worlds would have noticed (verdicts,
Sharpness). The list depends on the source alone. Of libraries, mutmut changes what
stands in functions only, and writes each into a copy of the project for pytest, and
cosmic-ray drops no statement, ``await`` or argument: so these are ours.

What nothing can show is left alone: annotations, docstrings (but those of tools, which
the model is shown), ``__all__``, imports, assertions, texts of errors, names of
handlers, plugins, graphs and loggers, and what is only for type checkers, or for hooks
that are handed what no framework does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from refengine.testing.handed import Handed
from refengine.testing.json_values import is_list
from refengine.testing.subject_worlds.source import FOLDS as OF_CASE
from refengine.testing.subject_worlds.source import python_source

Operator: TypeAlias = Literal[
    "constant",
    "comparison",
    "and/or",
    "not",
    "statement",
    "await",
    "argument",
    "swap",
    "fold",
]
OPERATORS: Final[dict[Operator, str]] = {
    "constant": "a number is one more, true is false, a text has a letter more",
    "comparison": "< is <=, > is >=, == is !=, in is not in, is is is not; and back",
    "and/or": "and is or, or is and",
    "not": "a not is left out; a condition without one gets it",
    "statement": "a call, return, raise, del, break, continue or assignment is dropped",
    "await": "an await is left out",
    "argument": "an argument is dropped: one given by name, or the last of several",
    "swap": "two neighbouring names of one type change places",
    "fold": "a lower(), upper(), casefold() or strip() is left out",
}
"""Each way in which code is changed, and what that is."""


@dataclass(frozen=True, slots=True)
class SmallChange:
    """One change: where, what text becomes what, and what would notice it.

    ``after`` is empty where something is dropped. ``statement`` is the line of the
    statement of a function that it stands in, None at the level of a module or class,
    where ``owners`` are the names that are bound there.
    """

    number: int
    operator: Operator
    line: int
    statement: int | None
    owners: tuple[str, ...]
    before: str
    after: str
    needs: str

    @property
    def text(self) -> str:
        """What becomes of what, in one line."""
        return f"{self.before} -> {self.after}" if self.after else f"no {self.before}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change that has not been made, and how to make it."""

    change: SmallChange
    make: Callable[[], None]


def small_changes(source: str | bytes) -> list[SmallChange]:
    """Return all small changes of a module, in the order of its text.

    One that does not parse has none.
    """
    tree = python_source(source).tree
    return [] if tree is None else [each.change for each in _Finder(tree).found()]


def apply_change(tree: ast.Module, number: int) -> None:
    """Make one change in a tree; raises IndexError if there is none of that number."""
    found = _Finder(tree).found()
    if not 0 <= number < len(found):
        raise IndexError(number)
    found[number].make()
    ast.fix_missing_locations(tree)


class Place:
    """Where a node hangs in a tree, so that another can be put there."""

    __slots__ = ("at", "field", "parent")

    def __init__(self, parent: ast.AST, field: str, at: int | None = None) -> None:
        self.parent: ast.AST = parent
        self.field: str = field
        self.at: int | None = at

    def put(self, new: ast.AST, old: ast.AST) -> None:
        """Put a node in the place of one."""
        ast.copy_location(new, old)
        if self.at is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.at] = new


class _Finder:
    """Goes through a module once, and lists what can be changed."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._found: list[Candidate] = []
        self._owners: tuple[str, ...] = ()
        self._statement: int | None = None
        self._line = 0
        self._types: dict[str, str] = {}
        self._known: dict[str, object] = {}
        self._raising = False
        self._of_class = False
        self._of_plugin = False
        self._handed = Handed(tree)
        self._ends: set[int] = set()

    def found(self) -> list[Candidate]:
        for at, each in enumerate(self._tree.body):
            if isinstance(each, (ast.Assign, ast.AnnAssign)):
                self._remember(each)
            self._owners = bound_by(each)
            if not left_alone(each):
                self._stmt(each, Place(self._tree, "body", at))
        return self._found

    def _remember(self, node: ast.Assign | ast.AnnAssign) -> None:
        if isinstance(node.value, ast.Constant):
            for name in bound_by(node):
                self._known[name] = node.value.value

    def _add(
        self,
        operator: Operator,
        before: ast.AST | str,
        after: ast.AST | str,
        make: Callable[[], None],
        needs: str,
    ) -> None:
        was, now = (e if isinstance(e, str) else plain(e) for e in (before, after))
        where = self._line, self._statement, self._owners
        change = SmallChange(len(self._found), operator, *where, was, now, needs)
        self._found.append(Candidate(change, make))

    def _put(
        self,
        operator: Operator,
        node: ast.expr,
        new: ast.expr,
        place: Place,
        needs: str,
    ) -> None:
        """Add that an expression is another one."""
        self._add(operator, node, new, lambda: place.put(new, node), needs)

    # Statements

    def _stmt(self, node: ast.stmt, place: Place) -> None:
        self._line = node.lineno
        if self._statement is not None and not self._of_class:
            self._statement = node.lineno
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._function(node)
        elif isinstance(node, ast.ClassDef):
            self._class(node)
        elif not isinstance(node, ast.Assert):
            outside = self._statement
            self._drop(node, place)
            self._raising = isinstance(node, ast.Raise)
            self._parts(node)
            self._raising = False
            self._statement = outside

    def _drop(self, node: ast.stmt, place: Place) -> None:
        ends = id(node) in self._ends and returns_nothing(node)
        if self._statement is None or ends or not droppable(node, place.parent):
            return
        needs = f"a world in which it shows that {plain(node)!r} is not done"
        self._add("statement", node, "", lambda: place.put(ast.Pass(), node), needs)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for at, each in enumerate(node.decorator_list):
            self._expr(each, Place(node, "decorator_list", at))
        self._defaults(node.args)
        outside = self._statement, self._types, self._of_class
        self._types, self._of_class = typed_as(node.args), False
        if not keeps_name(node):
            self._body(node)
        self._statement, self._types, self._of_class = outside

    def _body(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._ends.update(id(each) for each in ends_of(node.body))
        for at, each in enumerate(node.body):
            self._line = self._statement = each.lineno
            if ast.get_docstring(node) is None or at > 0:
                self._stmt(each, Place(node, "body", at))
            elif is_tool(node) and isinstance(each, ast.Expr):
                self._statement = None  # what it says is read when the tool is made
                self._expr(each.value, Place(each, "value"))

    def _defaults(self, args: ast.arguments) -> None:
        for field in ("defaults", "kw_defaults"):
            for at, each in enumerate(getattr(args, field)):
                if each is not None:
                    self._expr(each, Place(args, field, at))

    def _class(self, node: ast.ClassDef) -> None:
        outside = self._of_class, self._of_plugin
        self._of_class = True
        self._of_plugin = any(plain(each).endswith("Plugin") for each in node.bases)
        for at, each in enumerate(node.body):
            if not left_alone(each, of_class=True):
                self._stmt(each, Place(node, "body", at))
        self._of_class, self._of_plugin = outside

    def _parts(self, node: ast.AST) -> None:
        """Go into all parts of a node that are code."""
        for field, value in ast.iter_fields(node):
            if field in {"annotation", "returns", "type_params", "format_spec", "ctx"}:
                continue
            if field == self._never(node):
                continue
            if is_list(value):
                for at, each in enumerate(value):
                    self._part(each, Place(node, field, at))
            if isinstance(value, ast.AST):
                self._part(value, Place(node, field))

    def _never(self, node: ast.AST) -> str:
        """Return the part of a node that no hook comes to, "" where there is none."""
        if not isinstance(node, (ast.If, ast.IfExp)):
            return ""
        return {True: "orelse", False: "body", None: ""}[
            self._handed.certain(node.test)
        ]

    def _part(self, node: object, place: Place) -> None:
        if isinstance(node, ast.stmt):
            self._stmt(node, place)
        elif isinstance(node, ast.expr):
            if place.field in {"test", "ifs"}:
                self._negated(node, place)
            self._expr(node, place)
        elif isinstance(node, ast.AST):
            self._parts(node)

    # Expressions

    def _expr(self, node: ast.expr, place: Place) -> None:
        self._line = node.lineno
        match node:
            case ast.Constant():
                self._constant(node, place)
            case ast.Compare():
                self._comparison(node)
            case ast.BoolOp():
                self._and_or(node)
            case ast.UnaryOp(op=ast.Not()):
                needs = f"a world in which {plain(node.operand)} is true or false"
                self._put("not", node, node.operand, place, needs)
                self._parts(node)
            case ast.Await():
                needs = f"a world that waits for {plain(node.value)}"
                self._put("await", node, node.value, place, needs)
                self._parts(node)
            case ast.Call():
                self._folded(node, place)
                self._call(node)
            case ast.List() | ast.Tuple() if isinstance(node.ctx, ast.Load):
                self._swapped(node.elts)
                self._parts(node)
            case ast.Dict() if (at := question(node)) is not None:
                self._expr(node.values[at], Place(node, "values", at))
            case ast.Lambda():
                self._defaults(node.args)
                self._expr(node.body, Place(node, "body"))
            case _:
                self._parts(node)

    def _negated(self, node: ast.expr, place: Place) -> None:
        """Give a condition a ``not``, unless something in it is changed otherwise."""
        if isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)):
            return
        self._line = node.lineno
        new = ast.UnaryOp(ast.Not(), node)
        needs = f"a world in which {plain(node)} is true, and one in which it is false"
        self._put("not", node, new, place, needs)

    def _constant(self, node: ast.Constant, place: Place) -> None:
        value: object = node.value
        new: object
        if isinstance(value, bool):
            new = not value
        elif isinstance(value, (int, float)):
            new = value + 1
        elif isinstance(value, str) and not self._raising:
            new = f"{value}x"
        else:
            return
        needs = self._tells(value, new, place)
        self._put("constant", node, ast.Constant(new), place, needs)

    def _tells(self, value: object, new: object, place: Place) -> str:
        if isinstance(value, str):
            return f"a world in which the text {value!r} is looked for, or shown"
        if isinstance(value, bool):
            return f"a world in which it shows whether it is {value}"
        if isinstance(place.parent, ast.Compare) and type(value) is int:
            return exactly(place.parent, value)
        used = "".join(f" where {name} is used" for name in self._owners[:1])
        at_top = used if self._statement is None else ""
        return f"a world that tells {value!r} from {new!r}{at_top}"

    def _comparison(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for at, op in enumerate(node.ops):
            left, right = sides[at], sides[at + 1]
            new = COMPARED[type(op)]()
            self._line = left.lineno
            value = self._known.get(right.id) if isinstance(right, ast.Name) else None
            known = "" if value is None else f" ({value!r})"
            needs = REASONS.get(type(op), "").format(plain(left), plain(right) + known)

            def make(at: int = at, new: ast.cmpop = new) -> None:
                node.ops[at] = new

            before = ast.Compare(left, [op], [right])
            self._add(
                "comparison", before, ast.Compare(left, [new], [right]), make, needs
            )
        self._parts(node)

    def _and_or(self, node: ast.BoolOp) -> None:
        new = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        changed = ast.BoolOp(new, node.values)

        def make() -> None:
            node.op = new

        first, last = plain(node.values[0]), plain(node.values[-1])
        needs = f"a world in which only one of {first!r} and {last!r} is true"
        self._add("and/or", node, changed, make, needs)
        self._parts(node)

    def _call(self, node: ast.Call) -> None:
        skipped = normal(node)
        if skipped is None:
            return
        name = plain(node.func)
        if self._of_plugin and name == "super().__init__":
            skipped = frozenset((0, "name"))
        self._expr(node.func, Place(node, "func"))
        self._swapped(node.args)
        last = len(node.args) - 1
        counted = last > 0 and 0 not in skipped
        if counted and not isinstance(node.args[last], ast.Starred):
            self._dropped(node.args, last, name)
        for at, each in enumerate(node.args):
            if at not in skipped:
                self._expr(each, Place(node, "args", at))
        for at, word in enumerate(node.keywords):
            if word.arg not in skipped:
                self._line = word.value.lineno
                self._dropped(node.keywords, at, name)
                self._expr(word.value, Place(word, "value"))

    def _folded(self, node: ast.Call, place: Place) -> None:
        """Leave out a call after which texts are equal that were not."""
        match node:
            case ast.Call(func=ast.Attribute(value=text, attr=fold), args=[]) if (
                fold in FOLDS and not node.keywords
            ):
                needs = f"a world in which {plain(text)} {FOLDS[fold]}"
                self._put("fold", node, text, place, needs)
            case _:
                pass

    def _dropped(self, given: list[Any], at: int, name: str) -> None:
        node: ast.expr | ast.keyword = given[at]

        def make() -> None:
            del given[at]

        shown = plain(node)
        needs = f"a world in which it shows that {shown} is left out of {name}(…)"
        self._line = node.lineno
        self._add("argument", f"{shown} for {name}", "", make, needs)

    def _swapped(self, given: list[ast.expr]) -> None:
        for at, (one, other) in pairs(given, self._types):
            changed = [*given]
            changed[at : at + 2] = other, one

            def make(
                at: int = at, one: ast.expr = one, other: ast.expr = other
            ) -> None:
                given[at : at + 2] = other, one

            self._line = one.lineno
            needs = f"a world in which {plain(one)} and {plain(other)} differ"
            before, after = (", ".join(map(plain, each)) for each in (given, changed))
            self._add("swap", before, after, make, needs)


def bound_by(node: ast.stmt) -> tuple[str, ...]:
    """Return the names that a statement of a module binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.Assign):
        return tuple(name for each in node.targets for name in _names(each))
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return tuple(_names(node.target))
    return ()


def _names(node: ast.expr) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))


# What is changed, and what cannot matter by construction

_OTHER_CASE: Final = "has letters of another case"
FOLDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(OF_CASE, _OTHER_CASE),
        **dict.fromkeys(("strip", "lstrip", "rstrip"), "has space around it"),
    }
)
"""Methods that make texts equal which were not, and what tells them apart."""

_TURNED: Final[Sequence[tuple[type[ast.cmpop], type[ast.cmpop]]]] = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq)),
    *((ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
)
COMPARED: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = MappingProxyType(
    {one: other for each in _TURNED for one, other in (each, each[::-1])}
)
"""Each comparison, and what it is changed to."""

_EXACTLY: Final = "a world in which {} is exactly {}"
_EITHER: Final = "a world in which it shows whether {} is {}"
_AMONG: Final = "a world in which it shows whether {} is in {}"
REASONS: Final[Mapping[type[ast.cmpop], str]] = MappingProxyType(
    {
        **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), _EXACTLY),
        **dict.fromkeys((ast.Eq, ast.NotEq, ast.Is, ast.IsNot), _EITHER),
        **dict.fromkeys((ast.In, ast.NotIn), _AMONG),
    }
)
"""What would notice that a comparison is another one, of its two sides."""

ABOVE: Final = (ast.Gt, ast.LtE)
"""Comparisons with k that change at k + 1 where k becomes k + 1; others do at k."""

TYPING: Final = frozenset(
    ("TypeVar", "ParamSpec", "NewType", "TypeAliasType", "getLogger", "TypedDict")
)
"""Calls whose arguments nothing shows: types, and loggers, whose names are left out."""
NAMED: Final = frozenset(
    (
        *("create_agent", "create_react_agent", "compile", "dynamic_prompt"),
        *("before_agent", "before_model", "after_model", "after_agent"),
        *("wrap_model_call", "wrap_tool_call"),
    )
)
"""Calls whose ``name`` is that of a graph or handler, which is not compared."""
UNSEEN: Final = frozenset(("__all__", "__slots__", "name", "model_config"))
"""Names of a class or module whose values nothing shows."""
UNCOMPARED: Final = frozenset(("id", "name", "status", "artifact", "additional_kwargs"))
"""What a result of a tool carries beside what it says: few requests do."""
QUESTIONS: Final = frozenset(("action_request", "action_requests"))
"""Keys under which frameworks have the calls that a person is asked about."""
LINE: Final = 1_000
"""So much of a change's text is kept."""


def plain(node: ast.AST) -> str:
    """Return a node's source in one line."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LINE else f"{text[: LINE - 1]}…"


def question(node: ast.Dict) -> int | None:
    """Return where a question to a person says what it is about, if it is one.

    The form in which a framework has questions put is its own, and not compared.
    """
    for at, key in enumerate(node.keys):
        if isinstance(key, ast.Constant) and key.value in QUESTIONS:
            return at
    return None


def called(node: ast.AST) -> str:
    """Return the last name of what is called or named."""
    if isinstance(node, ast.Call):
        return called(node.func)
    if isinstance(node, ast.Subscript):
        return called(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def left_alone(node: ast.stmt, *, of_class: bool = False) -> bool:
    """Tell whether nothing that a statement of a module or class says can matter."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=test):
            return called(test) == "TYPE_CHECKING" or "__name__" in plain(test)
        case ast.AnnAssign(target=ast.Name(id=name)):
            return _unseen(name, of_class) or "TypeAlias" in plain(node.annotation)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return _unseen(name, of_class)
        case _:
            return type(node).__name__ == "TypeAlias"


def _unseen(name: str, of_class: bool) -> bool:  # one of two places
    return name in UNSEEN and (of_class or name.startswith("__"))


def keeps_name(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether it is the property that names a handler."""
    return node.name == "name" and "property" in map(called, node.decorator_list)


def is_tool(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function's docstring is shown to a model."""
    return any(called(each).endswith("tool") for each in node.decorator_list)


def droppable(node: ast.stmt, parent: ast.AST) -> bool:  # noqa: PLR0911  # one each
    """Tell whether a program without this statement is another one, and still one."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Expr(value=ast.Call() as call) if normal(call) is None:
            return False
        case ast.Expr() | ast.Delete() | ast.Raise() | ast.AugAssign():
            return True
        case ast.Continue():
            return not _is_last(node, parent)
        case ast.Break():
            return True
        case ast.Return():
            return True
        case (
            ast.Assign(targets=[target], value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
        ):
            return _is_lost(target, value)
        case _:
            return False


def returns_nothing(node: ast.stmt) -> bool:
    """Tell whether a statement returns None."""
    match node:
        case ast.Return(value=None | ast.Constant(value=None)):
            return True
        case _:
            return False


def ends_of(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a function behind which it ends anyway."""
    for last in block[-1:]:
        yield last
        match last:
            case ast.If(body=body, orelse=orelse):
                inner = [body, orelse]
            case ast.With(body=body) | ast.AsyncWith(body=body):
                inner = [body]
            case ast.Match(cases=cases):
                inner = [each.body for each in cases]
            case ast.Try(body, handlers, orelse):
                inner = [orelse or body, *(each.body for each in handlers)]
            case _:
                inner = []
        for each in inner:
            yield from ends_of(each)


def _is_lost(target: ast.expr, value: ast.expr) -> bool:
    """Tell whether what was there before stays if a value is not put there."""
    if isinstance(target, ast.Name):
        return any(called(each) == target.id for each in ast.walk(value))
    return isinstance(target, (ast.Attribute, ast.Subscript))


def _is_last(node: ast.stmt, parent: ast.AST) -> bool:
    """Tell whether a turn of a loop ends there anyway."""
    loops = (ast.For, ast.AsyncFor, ast.While)
    return isinstance(parent, loops) and parent.body[-1] is node


def normal(node: ast.Call) -> frozenset[object] | None:  # noqa: PLR0911  # one each
    """Return the places and names of arguments that nothing shows; None if all are."""
    name = called(node.func)
    if name in TYPING:
        return None
    if name == "cast":
        return frozenset((0,))
    if name == "dataclass":
        return frozenset(("frozen", "slots", "kw_only", "eq", "repr", "order"))
    if name == "zip":
        return frozenset(("strict",))
    if name == "__init__" and plain(node) == "super().__init__()":
        return None
    if name.endswith("Message") and name[0].isupper():
        return UNCOMPARED if name == "ToolMessage" else frozenset(("id",))
    if name == "Agent":
        return frozenset(("deps_type",))  # pydantic-ai's, for type checkers alone
    if name in NAMED or name.startswith("with_"):
        return frozenset(("name",))
    return frozenset()


def exactly(node: ast.Compare, value: int) -> str:
    """Return which world tells a bound from the next one."""
    is_left = isinstance(node.left, ast.Constant)
    other = node.comparators[-1] if is_left else node.left
    if isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return f"a world in which {plain(other)} is exactly {value} or {value + 1}"
    at = value + isinstance(node.ops[0], ABOVE)
    return _EXACTLY.format(plain(other), at)


def typed_as(args: ast.arguments) -> dict[str, str]:
    """Return the annotations of parameters, by their names."""
    every = (*args.posonlyargs, *args.args, *args.kwonlyargs)
    return {each.arg: plain(each.annotation) for each in every if each.annotation}


def pairs(
    given: Sequence[ast.expr], types: Mapping[str, str]
) -> Iterator[tuple[int, tuple[ast.expr, ast.expr]]]:
    """Yield neighbouring names that may be of one type, with the first one's place."""
    for at, (one, other) in enumerate(pairwise(given)):
        names = _name(one), _name(other)
        if None in names or names[0] == names[1]:
            continue
        if all(map(_is_class, names)):
            continue  # whether it is one of these: their order says nothing
        if isinstance(one, ast.Starred) != isinstance(other, ast.Starred):
            continue
        first, second = (types.get(name or "") for name in names)
        if first == second:
            yield at, (one, other)


def _is_class(name: str | None) -> bool:
    return name is not None and name[:1].isupper() and not name.isupper()


def _name(node: ast.expr) -> str | None:
    inner = node.value if isinstance(node, ast.Starred) else node
    return inner.id if isinstance(inner, ast.Name) else None
