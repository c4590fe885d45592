"""What of a module is changed in small ways, and what cannot matter by construction.

Parts of ``refengine.testing.small_changes``: each looks at one node of a tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

COMPARED: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = MappingProxyType(
    {
        ast.Lt: ast.LtE,
        ast.LtE: ast.Lt,
        ast.Gt: ast.GtE,
        ast.GtE: ast.Gt,
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.In: ast.NotIn,
        ast.NotIn: ast.In,
        ast.Is: ast.IsNot,
        ast.IsNot: ast.Is,
    }
)
"""Each comparison, and what it is changed to."""

_EXACTLY: Final = "a world in which {} is exactly {}"
_EITHER: Final = "a world in which it shows whether {} is {}"
REASONS: Final[Mapping[type[ast.cmpop], str]] = MappingProxyType(
    {
        **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), _EXACTLY),
        **dict.fromkeys((ast.Eq, ast.NotEq, ast.Is, ast.IsNot), _EITHER),
        **dict.fromkeys(
            (ast.In, ast.NotIn), "a world in which it shows whether {} is in {}"
        ),
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
        "create_agent",
        "create_react_agent",
        "compile",
        "before_agent",
        "before_model",
        "after_model",
        "after_agent",
        "wrap_model_call",
        "wrap_tool_call",
        "dynamic_prompt",
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
        case ast.Return(value=None | ast.Constant(value=None)):
            return not _is_last(node, parent)
        case ast.Return():
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return any(called(each) == name for each in ast.walk(value))
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
        case _:
            return False


def _is_last(node: ast.stmt, parent: ast.AST) -> bool:
    """Tell whether a function or loop ends there anyway."""
    loops = (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.AsyncFor, ast.While)
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
