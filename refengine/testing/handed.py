"""What a framework hands a hook, as far as it is certain: no world shows otherwise.

    the messages of a hook                 are never none: somebody said something
    the last of them, after the model      is the model's answer
    what a call gives its wrapper          is a result, where no tool gives a Command

A branch that would need the contrary has no probe (verdicts, Headline). Only the
module's own text is looked at: where it binds a name to anything else, or takes
messages away, nothing is certain; where it takes them from a copy of its own, the copy
is not from there on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Final, TypeAlias, TypeGuard

from refengine.testing.filled import SAME_LENGTH, TAKES

MESSAGES: Final = frozenset(("messages", "contents"))
"""What frameworks call the messages that they hand to a hook."""
AFTER: Final = frozenset(("after_model", "aafter_model", "after_model_rewrite_history"))
"""Hooks right after the model: methods of this name, or functions so decorated."""
GIVEN_AS: Final = frozenset(("post_model_hook", "after_chat_model"))
"""The same, by the argument that a function is given as."""
NEXT: Final = frozenset(("handler", "execute"))
"""What LangChain's wrappers of calls name the next one."""
ROLES: Final = frozenset(("role", "type"))
ANSWERS: Final = frozenset(("assistant", "ai"))
EMPTY: Final[Mapping[type[ast.cmpop], bool]] = MappingProxyType(
    {ast.Eq: False, ast.LtE: False, ast.NotEq: True, ast.Gt: True}
)
"""What a comparison of a length with 0 says of a list that is never empty."""
SAME: Final[Mapping[type[ast.cmpop], bool]] = MappingProxyType(
    {ast.Eq: True, ast.NotEq: False}
)
LOOPS: Final = (ast.For, ast.AsyncFor, ast.While)
HANDED: Final = ast.Attribute(ast.Name("hook", ast.Load()), "messages", ast.Load())

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
Calls: TypeAlias = Mapping[str, Sequence[ast.Call]]
Names: TypeAlias = frozenset[str]


@dataclass(frozen=True, slots=True)
class Bound:
    """A name, the value it is given, None where that is not known, and by what."""

    name: str
    value: ast.expr | None
    by: ast.AST


class Handed:
    """What is certain in one module of what its hooks are handed."""

    def __init__(self, tree: ast.Module) -> None:
        nodes = tuple(ast.walk(tree))
        calls = _calls_in(nodes)
        bound = [*_bindings(nodes, calls)]
        self._messages: frozenset[str] = _only_so(
            bound, lambda x, names: bool(x.value and _is_messages(x.value, names))
        )
        copies = {each for each in self._messages if _is_a_copy(each, bound)}
        taken = [*chain.from_iterable(map(_taken_from, nodes))]
        own = [each for each in taken if _is_one(each, copies)]
        self._taken: Mapping[str, int] = _from_which_line(own, nodes)
        shared = (each for each in taken if not _is_one(each, copies))
        kept = self._messages | MESSAGES
        self._known: bool = not any(kept.intersection(_named(of)) for of in shared)
        self._known &= not any(map(_reads_what_it_put, nodes))
        hooks = [*_hooks_after(nodes)]
        self._answers: frozenset[str] = frozenset()
        if len({each.name.removeprefix("a") for each in hooks}) == 1:
            inside = {id(node) for hook in hooks for node in ast.walk(hook)}
            self._answers = _only_so(
                bound,
                lambda x, names: self._is_last(x, inside) or _is_one_of(x, names),
            )
        self._results: frozenset[str] = frozenset()
        if "Command" not in calls:
            self._results = _only_so(
                bound, lambda x, names: _is_result(x.value) or _is_one_of(x, names)
            )

    def is_messages(self, value: ast.expr) -> bool:
        """Tell whether a value is a list of messages that is never empty."""
        last = getattr(value, "end_lineno", None)
        names = (
            each
            for each in self._messages
            if each not in self._taken or (last and last < self._taken[each])
        )
        return self._known and _is_messages(value, frozenset(names))

    def certain(self, test: ast.expr) -> bool | None:
        """Return which way a condition always goes, None where it may go both."""
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                way = self.certain(operand)
                return None if way is None else not way
            case ast.Call(ast.Name("isinstance"), [ast.Name(name), kind]):
                kinds = ast.unparse(kind)
                answer = name in self._answers and "AIMessage" in kinds
                result = name in self._results and "ToolMessage" in kinds
                return answer or result or None
            case ast.Compare(
                ast.Attribute(ast.Name(name), attr), [sign], [ast.Constant(role)]
            ) if name in self._answers and attr in ROLES and role in ANSWERS:
                return SAME.get(type(sign))
            case ast.Compare(
                ast.Call(ast.Name("len"), [of]), [sign], [ast.Constant(0)]
            ) if self.is_messages(of):
                return EMPTY.get(type(sign))
            case _:
                return self.is_messages(test) or None

    def _is_last(self, bound: Bound, inside: set[int]) -> bool:
        """Tell whether a hook after the model gives a name the last message."""
        match bound.value:
            case ast.Subscript(of, ast.UnaryOp(ast.USub(), ast.Constant(1))):
                return id(bound.by) in inside and self.is_messages(of)
            case _:
                return False


def _only_so(
    bound: Sequence[Bound], fits: Callable[[Bound, Names], bool]
) -> frozenset[str]:
    """Return the names that fit wherever they are bound, if these names do."""
    names = frozenset(each.name for each in bound)
    while True:
        left = names - {each.name for each in bound if not fits(each, names)}
        if left == names:
            return names
        names = left


def _is_one_of(bound: Bound, names: Names) -> bool:
    """Tell whether a name is bound to what another one stands for."""
    return isinstance(bound.value, ast.Name) and bound.value.id in names


def _is_result(value: ast.expr | None) -> bool:
    """Tell whether a value is what a wrapper of calls is given by the next one."""
    match value:
        case ast.Await(called):
            return _is_result(called)
        case ast.Call(ast.Name(name)):
            return name in NEXT
        case _:
            return False


def _is_messages(value: ast.expr, names: frozenset[str]) -> bool:  # noqa: PLR0911  # a table: one return a kind
    match value:
        case ast.Name(name):
            return name in names
        case ast.Attribute(_, name) | ast.Subscript(_, ast.Constant(name)):
            return name in MESSAGES
        case ast.Call(ast.Attribute(_, "get"), [ast.Constant(name), *_]):
            return name in MESSAGES
        case ast.Call(ast.Name(function), [of, *_]) if function in SAME_LENGTH:
            return function != "zip" and _is_messages(of, names)
        case ast.BoolOp(ast.Or(), [first, *_]):
            return _is_messages(first, names)
        case ast.List(parts):
            whole = (each.value for each in parts if isinstance(each, ast.Starred))
            return any(_is_messages(each, names) for each in whole)
        case _:
            return False


def _taken_from(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a node takes something away from, if it does."""
    match node:
        case ast.Call(ast.Attribute(of, method)) if method in TAKES:
            yield of
        case ast.Subscript(of, ast.Slice(), ast.Store()):
            yield of
        case ast.Subscript(of, ast.Constant(str()), ast.Del()):
            yield node
        case ast.Subscript(of, _, ast.Del()):
            yield of
        case ast.Attribute(_, _, ast.Del()):
            yield node
        case _:
            pass


def _is_one(of: ast.expr, names: AbstractSet[str]) -> TypeGuard[ast.Name]:
    return isinstance(of, ast.Name) and of.id in names


def _named(of: ast.expr) -> Iterator[str]:
    """Yield the names, attributes and keys by which a value is reached."""
    for each in ast.walk(of):
        match each:
            case ast.Name(name) | ast.Attribute(_, name) | ast.Constant(str(name)):
                yield name
            case _:
                pass


def _is_a_copy(name: str, bound: Sequence[Bound]) -> bool:
    """Tell whether a name always stands for a list of its own, and no other for it."""
    own = (ast.Call, ast.List)
    return all(
        isinstance(each.value, own)
        if each.name == name
        else not (isinstance(each.value, ast.Name) and each.value.id == name)
        for each in bound
    )


def _from_which_line(
    taken: Sequence[ast.Name], nodes: Sequence[ast.AST]
) -> Mapping[str, int]:
    """Return where names may be empty: from a line on, or the start of its loop."""
    loops = [each for each in nodes if isinstance(each, LOOPS)]
    first: dict[str, int] = {}
    for each in taken:
        name, line = each.id, each.lineno
        around = (x.lineno for x in loops if x.lineno <= line <= (x.end_lineno or 0))
        first[name] = min((line, first.get(name, line), *around))
    return first


def _reads_what_it_put(node: ast.AST) -> bool:
    """Tell whether a function looks at messages that it put in the place of others."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    put: list[int] = []
    read: list[int] = []
    for each in ast.walk(node):
        match each:
            case ast.Attribute(_, name, ctx) | ast.Subscript(
                _, ast.Constant(name), ctx
            ):
                if name in MESSAGES:
                    (read if isinstance(ctx, ast.Load) else put).append(each.lineno)
            case _:
                pass
    return bool(put and read) and max(read) > min(put)


def _bindings(nodes: Sequence[ast.AST], calls: Calls) -> Iterator[Bound]:
    """Yield each name that the module binds, as often as it does."""
    taken: set[int] = set()
    for node in nodes:
        match node:
            case (
                ast.Assign([ast.Name(name) as to], value)
                | ast.AnnAssign(ast.Name(name) as to, value=value)
                | ast.NamedExpr(ast.Name(name) as to, value)
            ):
                taken.add(id(to))
                yield Bound(name, value, node)
            case ast.Assign([ast.Tuple([ast.Starred(), ast.Name(name) as to])], of):
                taken.add(id(to))
                end = ast.UnaryOp(ast.USub(), ast.Constant(1))
                yield Bound(name, ast.Subscript(of, end, ast.Load()), node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                taken.update(id(each) for each in ast.walk(node.args))
                yield from _arguments(node, calls.get(node.name, ()))
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                if id(node) not in taken:
                    yield Bound(name, None, node)
            case _:
                pass


def _arguments(function: Function, calls: Sequence[ast.Call]) -> Iterator[Bound]:
    """Yield the parameters of a function with what each call of it gives them.

    One that the module never calls is a hook, which is given messages by that name.
    """
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    keywords = [each.arg for each in function.args.kwonlyargs]
    for at, name in enumerate((*names, *keywords)):
        for call in calls:
            given = {each.arg: each.value for each in call.keywords}
            value = call.args[at] if at < len(call.args) else given.get(name)
            yield Bound(name, value, function)
        if not calls:
            yield Bound(name, HANDED if name in MESSAGES else None, function)


def _calls_in(nodes: Sequence[ast.AST]) -> Calls:
    """Return the calls by the name of what is called, a method's name for methods."""
    found: dict[str, list[ast.Call]] = {}
    for node in nodes:
        match node:
            case ast.Call(ast.Name(name)) | ast.Call(ast.Attribute(_, name)):
                found.setdefault(name, []).append(node)
            case _:
                pass
    return found


def _hooks_after(nodes: Sequence[ast.AST]) -> Iterator[Function]:
    """Yield the functions that a framework calls right after the model."""
    given = {
        ast.unparse(each.value).rpartition(".")[-1]
        for each in nodes
        if isinstance(each, ast.keyword) and each.arg in GIVEN_AS
    }
    for each in nodes:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorated = {ast.unparse(of) for of in each.decorator_list}
            if {each.name, *decorated} & AFTER or each.name in given:
                yield each
