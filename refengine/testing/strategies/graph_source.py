"""What the source of a graph looks for by name: options, and classes of errors."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

FACE: Final = "as_langchain"
"""Who asks a world for this returns a graph."""
RESERVED: Final = frozenset(
    ("thread_id", "checkpoint_id", "checkpoint_ns", "messages", "configurable", "get")
)
ROOTS: Final = frozenset(("context", "configurable", "config", "state"))
"""What holds the named values of a run."""
MOST: Final = 6
"""So many names are looked up, and so many classes raised."""
VALUES: Final = 8
GENERAL: Final = frozenset(
    (
        "Exception",
        "BaseException",
        "ExceptionGroup",
        "BaseExceptionGroup",
        "NotImplementedError",  # by which the frameworks say that a way is missing
        "UnicodeDecodeError",
        "UnicodeEncodeError",
        "UnicodeTranslateError",  # not made from a text
        "StopIteration",
        "StopAsyncIteration",  # end a generator, whoever raises them
    )
)
"""Classes of errors that a scripted one is anyway, or cannot be."""


@dataclass(frozen=True, slots=True)
class GraphWords:
    """Names of options, values that may be theirs, and names of errors."""

    options: tuple[str, ...] = ()
    values: tuple[object, ...] = ()
    errors: tuple[str, ...] = ()


def is_graph_source(source: str) -> bool:
    """Tell whether a subject's source builds a graph."""
    return FACE in source


def graph_words(sources: Iterable[str]) -> GraphWords:
    """Return the words of these sources; one that does not parse has none."""
    options: dict[str, None] = {}
    values: dict[object, None] = {}
    errors: dict[str, None] = {}
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        options.update(dict.fromkeys(_options(tree)))
        errors.update(dict.fromkeys(_errors(tree)))
        values.update(dict.fromkeys(_values(tree)))
    return GraphWords(
        tuple(options)[:MOST], tuple(values)[:VALUES], tuple(errors)[:MOST]
    )


def _options(tree: ast.AST) -> Iterator[str]:
    """Yield what is looked for in a context, a configuration or a state."""
    for node in ast.walk(tree):
        name: object = None
        if isinstance(node, ast.Attribute) and _named(node.value) == "context":
            name = node.attr
        elif isinstance(node, ast.Subscript) and _named(node.value) in ROOTS:
            name = node.slice.value if isinstance(node.slice, ast.Constant) else None
        elif isinstance(node, ast.Call):
            name = _got_by(node)
        if isinstance(name, str) and name.isidentifier() and name not in RESERVED:
            yield name


def _got_by(call: ast.Call) -> object:
    """Return the name in ``context.get("name")``, None where a call is no such one."""
    how = call.func
    if not isinstance(how, ast.Attribute) or how.attr != "get" or not call.args:
        return None
    first = call.args[0]
    found = _named(how.value) in ROOTS and isinstance(first, ast.Constant)
    return first.value if found and isinstance(first, ast.Constant) else None


def _named(node: ast.AST) -> str:
    """Return the last name of what a value is taken from."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    if (
        isinstance(node, ast.Call)
        and node.args
        and isinstance(node.func, ast.Attribute)
    ):
        first = node.args[0]
        return str(first.value) if isinstance(first, ast.Constant) else ""
    if isinstance(node, ast.BoolOp):  # (runtime.context or {}).get(…)
        return _named(node.values[0])
    return ""


def _errors(tree: ast.AST) -> Iterator[str]:
    """Yield the exceptions of Python's own that are named."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in GENERAL:
            kind: object = getattr(builtins, node.id, None)
            if isinstance(kind, type) and issubclass(kind, Exception):
                yield node.id


def _values(tree: ast.AST) -> Iterator[object]:
    """Yield short texts that are compared with, or are a key or a default."""
    yield from ("a", True, 2)
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            found = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            found = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Call):
            found = list(node.args[1:2])
        for each in found:
            value = each.value if isinstance(each, ast.Constant) else None
            if isinstance(value, str) and len(value) <= 40:
                yield value
