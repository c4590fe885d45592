"""The names of tools that a source makes itself: no tool of the world's has one.

A function that is decorated as a tool, that stands in a list of tools, or that a class
of tools is made from. A world whose tools have such names shows what a framework does
about two tools of one name, in every run, and nothing else of a subject.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from refengine.testing.subject_worlds.source import PythonSource, constant_of, named

TOOLS: Final = "tools"
MADE: Final = ("tool", "from_function")
"""How what makes a tool of a function is called, or ends."""
TAKES: Final = ("agent", "toolnode")
"""How what takes a list of tools ends."""
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def own_tool_names(sources: Iterable[PythonSource]) -> frozenset[str]:
    """Return the names of these sources' own tools."""
    nodes = [node for each in sources for node in each.nodes]
    functions = {node.name for node in nodes if isinstance(node, FUNCTIONS)}
    found = {name for node in nodes for name in _made(node, functions)}
    return frozenset(found)


def _made(node: ast.AST, functions: set[str]) -> Iterator[str]:
    if isinstance(node, FUNCTIONS):
        for each in node.decorator_list:
            call = each if isinstance(each, ast.Call) else None
            if _makes(each if call is None else call.func):
                yield _name_given(call) or node.name
    elif isinstance(node, ast.Call) and _makes(node.func):
        name = _name_given(node)
        given = (*node.args, *(each.value for each in node.keywords))
        yield from [name] if name else _among(given, functions)
    yield from _among(_listed(node), functions)


def _listed(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what stands in a list of tools, where such a list is given or named."""
    values: Iterable[ast.expr] = ()
    match node:
        case ast.keyword(arg="tools", value=value):
            values = [value]
        case ast.Assign(targets=[target], value=value) if TOOLS in named(target):
            values = [value]
        case ast.Call(func=func, args=args) if named(func).lower().endswith(TAKES):
            values = args
        case _:
            pass
    for each in values:
        yield from each.elts if isinstance(each, (ast.List, ast.Tuple)) else ()


def _makes(node: ast.expr) -> bool:
    return named(node).lower().endswith(MADE)


def _name_given(call: ast.Call | None) -> str | None:
    """Return the name that a tool is given where it is made, None if it has another."""
    if call is None:
        return None
    given = [k.value for k in call.keywords if k.arg == "name"] or call.args[:1]
    value = constant_of(given[0]) if given else None
    return value if isinstance(value, str) else None


def _among(given: Iterable[ast.expr], functions: set[str]) -> Iterator[str]:
    names = (each.id for each in given if isinstance(each, ast.Name))
    return (name for name in names if name in functions)
