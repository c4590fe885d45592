"""What the source of a graph looks for by name: options, classes of errors, steps."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from refengine.messages import Json
from refengine.testing.subject_worlds.answers import replies_of
from refengine.testing.subject_worlds.named_values import (
    BY_TYPE,
    CONFIGURABLE,
    CONTEXT,
    STATE,
    NamedValues,
    Value,
)

FACE: Final = "as_langchain"
"""Who asks a world for this returns a graph."""
OLDER_SCHEMA: Final = "config_schema"
"""A graph's name for what is given as ``configurable``, which it keeps as a context."""
COUNTS: Final = re.compile(r"remaining_steps|is_last_step")
"""How a source reads the steps that a run may still take."""
MOST: Final = 8
"""So many names are looked up, and so many classes raised."""
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
class Option:
    """A value that runs are given by name.

    One that is ``needed`` is taken without asking whether it is there. One that is
    ``of_context`` a caller of OLD gives as context, and in no other way.
    """

    name: str
    values: tuple[Value, ...] = ("a",)
    needed: bool = False
    of_context: bool = False


@dataclass(frozen=True, slots=True)
class GraphWords:
    """Options of runs, names of errors, whether a source counts steps, and answers.

    ``replies`` are what a caller of OLD answers to what it asks, each with its kind.
    ``adk`` says that it is agents of ADK, whose options are the state that a session
    begins with, and ``agents`` are their names.
    """

    options: tuple[Option, ...] = ()
    errors: tuple[str, ...] = ()
    counts: bool = False
    replies: tuple[tuple[str, Json], ...] = ()
    agents: tuple[str, ...] = ()
    adk: bool = False


def is_graph_source(source: str) -> bool:
    """Tell whether a subject's source builds a graph."""
    return FACE in source


def graph_words(sources: Iterable[str], old: Iterable[str] = ()) -> GraphWords:
    """Return the words of these sources; one that does not parse has none.

    ``old`` are those of them that are OLD's: how its callers give values.
    """
    texts, before = list(sources), list(old)
    found, errors = NamedValues(), dict[str, None]()
    for tree in parsed(texts):
        found.read(tree)
        errors.update(errors_of(tree))
    doors = doors_of(tuple(before))
    alone = {name for name, some in doors.items() if some == frozenset((CONTEXT,))}
    options = tuple(_options(found, alone))[:MOST]
    counts = any(COUNTS.search(text) is not None for text in texts)
    replies = replies_of(before, texts)
    return GraphWords(options, tuple(errors)[:MOST], counts, replies)


@cache
def doors_of(sources: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
    """Return through which doors a side's sources look for each name.

    A graph with a ``config_schema`` is given its fields as ``configurable``, too.
    """
    found = NamedValues()
    for tree in parsed(sources):
        found.read(tree)
    older = any(OLDER_SCHEMA in text for text in sources)
    more = {CONFIGURABLE, CONTEXT} if older else set[str]()
    return {name: frozenset(some | more) for name, some in found.doors.items()}


def _options(found: NamedValues, alone: Iterable[str]) -> Iterator[Option]:
    """Yield the options; a key of the state has a plain type, or it is the subject's.

    What a subject gathers in its state, such as a list of what was said, is not a value
    that a caller gives.
    """
    texts = tuple(found.texts)[:12]
    for name, doors in found.doors.items():
        kind = found.types.get(name)
        plain = name in found.choices or kind not in {None, "list", "dict"}
        if doors == {STATE} and not plain:
            continue
        values = found.choices.get(name) or _values(kind, found) or texts
        yield Option(name, values, found.needed[name], name in alone)


def _values(kind: str | None, found: NamedValues) -> tuple[Value, ...]:
    """Return values of a type: of numbers those that are compared with, and near."""
    if kind not in {"int", "float"}:
        return BY_TYPE.get(kind or "", ())
    near: list[Value] = list(BY_TYPE[kind])
    for number in list(found.numbers)[:MOST]:
        if kind == "float" or number == int(number):
            near += [number, number - 1, number + 1]
    return tuple(dict.fromkeys(near))


def parsed(sources: Iterable[str]) -> Iterator[ast.Module]:
    """Yield the trees of the sources that parse."""
    for source in sources:
        try:
            yield ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue


def errors_of(tree: ast.Module) -> Iterator[tuple[str, None]]:
    """Yield the classes of errors that a source names, as keys."""
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else ""
        kind: object = getattr(builtins, name, None)
        is_error = isinstance(kind, type) and issubclass(kind, Exception)
        if is_error and name not in GENERAL:
            yield name, None
