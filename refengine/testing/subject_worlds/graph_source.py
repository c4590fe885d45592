"""What the source of a graph looks for by name: options, and classes of errors."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

Value: TypeAlias = "str | int | float | bool"

FACE: Final = "as_langchain"
"""Who asks a world for this returns a graph."""
RESERVED: Final = frozenset(
    (
        "checkpoint_id",
        "checkpoint_ns",
        "configurable",
        "get",
        "is_last_step",
        "jump_to",
        "llm_input_messages",
        "messages",
        "remaining_steps",
        "structured_response",
        "thread_id",
    )
)
"""Names that the frameworks keep for themselves."""
GIVEN: Final = frozenset(("context", "configurable", "config"))
"""What holds the values that a caller gives by name; a state holds others, too."""
MOST: Final = 6
"""So many names are looked up, and so many classes raised."""
LONGEST: Final = 40
"""A longer text is no value that a caller gives by name."""
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
BY_TYPE: Final[Mapping[str, tuple[Value, ...]]] = MappingProxyType(
    {"int": (0, 1, 2), "float": (0.5, 2.0), "bool": (True, False)}
)
AROUND: Final = frozenset(("NotRequired", "Required", "Annotated", "Optional"))
"""What stands around the type of a field."""


@dataclass(frozen=True, slots=True)
class Option:
    """A value that runs are given by name.

    One that is ``needed`` is taken without asking whether it is there.
    """

    name: str
    values: tuple[Value, ...] = ("a",)
    needed: bool = False


@dataclass(frozen=True, slots=True)
class GraphWords:
    """Options of runs, and names of errors."""

    options: tuple[Option, ...] = ()
    errors: tuple[str, ...] = ()


def is_graph_source(source: str) -> bool:
    """Tell whether a subject's source builds a graph."""
    return FACE in source


def graph_words(sources: Iterable[str]) -> GraphWords:
    """Return the words of these sources; one that does not parse has none."""
    reader = _Reader()
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            reader.read(node)
    return GraphWords(reader.options(), tuple(reader.errors)[:MOST])


class _Reader:
    """Gathers what the nodes of all sources say."""

    def __init__(self) -> None:
        self.errors: dict[str, None] = {}
        self._needed: dict[str, bool] = {}
        self._of_state: set[str] = set()
        self._types: dict[str, tuple[Value, ...]] = {}
        self._texts: dict[str, None] = {"a": None}

    def options(self) -> tuple[Option, ...]:
        """Return the options; a key of the state has a type, or it is the subject's."""
        texts = tuple(self._texts)[: 2 * MOST]
        found = [
            Option(name, self._types.get(name, texts) or texts, needed)
            for name, needed in self._needed.items()
            if name not in self._of_state or self._types.get(name) is not None
        ]
        return tuple(found[:MOST])

    def read(self, node: ast.AST) -> None:
        """Take over what one node says."""
        if isinstance(node, ast.Name):
            self._error(node.id)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self._typed(node.target.id, node.annotation)
        elif isinstance(node, ast.Compare):
            for each in (node.left, *node.comparators):
                self._text(each)
        elif isinstance(node, ast.Dict):
            for key in node.keys:
                self._text(key)
        self._looked_up(node)

    def _looked_up(self, node: ast.AST) -> None:
        """Remember a name that is looked for in what holds named values."""
        if isinstance(node, ast.Attribute) and named(node.value) == "context":
            self._name(node.attr, "context", needed=True)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            written = isinstance(node.ctx, ast.Store)
            if not written:
                self._name(node.slice.value, named(node.value), needed=True)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            first = node.args[0] if node.args else None
            if node.func.attr == "get" and isinstance(first, ast.Constant):
                self._name(first.value, named(node.func.value), needed=False)
            for each in node.args[1:2]:
                self._text(each)

    def _name(self, name: object, where: str, *, needed: bool) -> None:
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            return
        if where == "state":
            self._of_state.add(name)
        elif where not in GIVEN:
            return
        else:
            self._of_state.discard(name)
        self._needed[name] = self._needed.get(name, False) or needed

    def _typed(self, name: str, annotation: ast.expr) -> None:
        """Remember values of the type that a name is declared with, if it is plain."""
        while isinstance(annotation, ast.Subscript):
            parts: list[ast.expr]
            parts = getattr(annotation.slice, "elts", [annotation.slice])
            if named(annotation.value) == "Literal":
                self._types[name] = tuple(_texts_in(parts))
                return
            if named(annotation.value) not in AROUND:
                return
            annotation = parts[0]
        if isinstance(annotation, ast.BinOp):  # str | None
            annotation = annotation.left
        kind = named(annotation)
        if kind in BY_TYPE or kind == "str":
            self._types[name] = BY_TYPE.get(kind, ())

    def _text(self, node: ast.expr | None) -> None:
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and len(value) <= LONGEST:
            self._texts[value] = None

    def _error(self, name: str) -> None:
        kind: object = getattr(builtins, name, None)
        is_error = isinstance(kind, type) and issubclass(kind, Exception)
        if is_error and name not in GENERAL:
            self.errors[name] = None


def _texts_in(parts: Iterable[ast.expr]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def named(node: ast.expr) -> str:
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
        first = node.args[0]  # config.get("configurable", {}).get(…)
        return str(first.value) if isinstance(first, ast.Constant) else ""
    if isinstance(node, ast.BoolOp):  # (runtime.context or {}).get(…)
        return named(node.values[0])
    return ""
