"""What of a module always holds something, so that a loop over it is always entered.

A branch that nothing can take has no probe (verdicts, Headline). Only the module's own
text is looked at; where that leaves a doubt a value may be empty.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import add, mul, sub
from typing import Final

SAME_LENGTH: Final = frozenset(
    ("enumerate", "sorted", "reversed", "list", "tuple", "set", "frozenset", "zip")
)
"""Functions whose result holds something where each of their arguments does."""
READS: Final = frozenset(("items", "keys", "values", "get", "index", "count", "copy"))
"""Methods that leave a list or a dictionary as it is."""
LOOKS: Final = SAME_LENGTH | {"len", "any", "all", "sum", "min", "max", "dict"}
"""Functions that do so."""
WHOLE: Final[Mapping[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
}
"""What makes a whole number of two."""
TAKES: Final = frozenset(("pop", "clear", "remove"))
"""Methods after which a list may be empty."""
LEAVES: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)
WORD: Final = re.compile(r"\w+")


def filled_names(tree: ast.Module) -> Mapping[str, ast.expr]:
    """Return the module's names that stand for one value, which is never empty.

    Their values are literals. One that can be changed counts where nothing in the
    module could do so.
    """
    bound = list(_bound(tree))
    found: dict[str, ast.expr] = {}
    for name, value in _assigned(tree):
        if bound.count(name) == 1 and is_filled(value, found):
            found[name] = value
    touched = {*_touched(tree)}
    immutable = (ast.Tuple, ast.Constant, ast.BinOp)
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, immutable) or name not in touched
    }


def is_filled(value: ast.expr, names: Mapping[str, ast.expr]) -> bool:
    """Tell whether a value always holds something, or is a number of at least 1."""
    if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
        return any(not isinstance(each, ast.Starred) for each in value.elts)
    if isinstance(value, ast.Dict):
        return any(key is not None for key in value.keys)
    if isinstance(value, ast.Constant):
        given = value.value
        more = given > 0 if isinstance(given, int) else isinstance(given, str)
        return more and bool(given)
    if isinstance(value, ast.Name):
        return value.id in names
    if isinstance(value, ast.BinOp):
        return (number(value, names) or 0) > 0
    return isinstance(value, ast.Call) and _is_filled_call(value, names)


def _is_filled_call(call: ast.Call, names: Mapping[str, ast.expr]) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute):
        read = function.attr in {"items", "keys", "values"} and not call.args
        return read and is_filled(function.value, names)
    if not isinstance(function, ast.Name) or not call.args:
        return False
    if function.id == "range":
        ends = [number(each, names) for each in call.args]
        known = [each for each in ends if each is not None]
        return len(known) == len(ends) and bool(_steps(known))
    given = call.args if function.id == "zip" else call.args[:1]
    return function.id in SAME_LENGTH and all(is_filled(x, names) for x in given)


def number(value: ast.expr, names: Mapping[str, ast.expr]) -> int | None:
    """Return the whole number that a value always is, None where that is not known."""
    if isinstance(value, ast.Name):
        given = names.get(value.id)
        return None if given is None else number(given, names)
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, int) else None
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        of = number(value.operand, names)
        return None if of is None else -of
    if not isinstance(value, ast.BinOp) or type(value.op) not in WHOLE:
        return None
    left, right = number(value.left, names), number(value.right, names)
    return None if left is None or right is None else WHOLE[type(value.op)](left, right)


def _steps(given: Sequence[int]) -> Sequence[int]:
    """Return the range of these, an empty one where Python refuses them."""
    try:
        return range(*given)
    except (TypeError, ValueError):
        return ()


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield what the module's own statements give a name, in their order."""
    for each in tree.body:
        if isinstance(each, ast.Assign) and len(each.targets) == 1:
            target, value = each.targets[0], each.value
        elif isinstance(each, ast.AnnAssign) and each.value is not None:
            target, value = each.target, each.value
        else:
            continue
        if isinstance(target, ast.Name):
            yield target.id, value


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield each name as often as the source binds it, anywhere."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            yield each.id
        elif isinstance(each, ast.arg):
            yield each.arg
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield each.name
        elif isinstance(each, ast.alias):
            yield each.asname or each.name
        elif isinstance(each, ast.ExceptHandler) and each.name:
            yield each.name


def _touched(tree: ast.Module) -> Iterator[str]:
    """Yield names whose values may be changed: each use that is not one to read."""
    reads = {id(each) for node in ast.walk(tree) for each in _read_by(node)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            yield from () if id(each) in reads else (each.id,)


def _read_by(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node only reads."""
    if isinstance(node, ast.Attribute) and node.attr in READS:
        yield node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.iter
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield node.value
    elif isinstance(node, ast.Compare):
        yield from node.comparators
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield from node.args if node.func.id in LOOKS else ()


def asked_loops(
    body: Sequence[ast.stmt], known: Iterable[str] = ()
) -> Iterator[ast.For]:
    """Yield loops over what was asked before, so that it holds something there.

    As in ``if not calls: return`` and then ``for call in calls``. ``known`` are the
    expressions that were asked around ``body``.
    """
    holds = {*known}
    for each in body:
        if isinstance(each, ast.For) and _of_same_length(each.iter) in holds:
            yield each
        if isinstance(each, ast.If):
            then, otherwise = ({*_holding(each.test, when=w)} for w in (True, False))
            yield from asked_loops(each.body, holds | then)
            yield from asked_loops(each.orelse, holds | otherwise)
        else:
            defines = isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
            inner = () if defines or isinstance(each, ast.ClassDef) else holds
            for part in _blocks(each):
                yield from asked_loops(part, inner)
        changed = {*_changed(each)}
        if isinstance(each, ast.If) and isinstance(each.body[-1], LEAVES):
            changed = {*chain.from_iterable(map(_changed, each.orelse))}
            holds |= {*_holding(each.test, when=False)}
        holds = {text for text in holds if not changed & {*WORD.findall(text)}}


def _blocks(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Yield the blocks of statements in a statement."""
    holders = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    for each in holders:
        for name in ("body", "orelse", "finalbody"):
            yield getattr(each, name, [])


def _holding(test: ast.expr, *, when: bool) -> Iterator[str]:
    """Yield what holds something where a condition is true, or where it is false."""
    match test:
        case ast.BoolOp(op, values):
            for each in values if isinstance(op, ast.And) is when else ():
                yield from _holding(each, when=when)
        case ast.UnaryOp(ast.Not(), operand):
            yield from _holding(operand, when=not when)
        case _ if when:
            yield ast.unparse(test)
        case _:
            pass


def _of_same_length(value: ast.expr) -> str:
    """Return what a value has the length of."""
    match value:
        case ast.Call(ast.Name(function), [of, *_]) if function in SAME_LENGTH - {
            "zip"
        }:
            return _of_same_length(of)
        case _:
            return ast.unparse(value)


def _changed(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, or calls a method of that changes."""
    for each in ast.walk(node):
        match each:
            case ast.Name(name, ast.Store() | ast.Del()):
                yield name
            case ast.Attribute(_, name, ast.Store() | ast.Del()):
                yield name
            case ast.Subscript(of, _, ast.Del()):
                yield from WORD.findall(ast.unparse(of))
            case ast.Call(ast.Attribute(of, method)) if method in TAKES:
                yield from WORD.findall(ast.unparse(of))
            case _:
                pass
