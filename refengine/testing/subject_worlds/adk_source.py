"""What the source of agents of ADK says of their worlds: state keys, agents, errors."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeGuard

from refengine.testing.subject_worlds.graph_source import (
    MOST,
    GraphWords,
    Option,
    errors_of,
    parsed,
)
from refengine.testing.subject_worlds.named_values import BY_TYPE, Value, named
from refengine.testing.subject_worlds.source import assigned

FACES: Final = ("as_adk", "as_flow")
"""Who asks a world for one of these returns agents of ADK, or of our Flow dialect."""
AGENT: Final = "Agent"
"""How the names of classes of agents end."""
KEPT: Final = frozenset(("app", "user"))
"""Scopes that a key of the state may name, and that a caller may give."""
RECKONING: Final = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)
"""Operators whose operands are numbers; a sum may be one of texts, a rest a format.

A text may be repeated as well, but hardly one that a session keeps.
"""
NEAR: Final = 4
"""So many numbers of a source are values of a key that is counted in, with those next
to them."""


def is_adk_source(source: str) -> bool:
    """Tell whether a subject's source builds agents of ADK, or of our Flow dialect."""
    return any(face in source for face in FACES)


def adk_words(sources: Iterable[str]) -> GraphWords:
    """Return the words of these sources; one that does not parse has none."""
    found = _StateKeys()
    agents, errors = dict[str, None](), dict[str, None]()
    for tree in parsed(sources):
        found.read(tree)
        agents.update(_agents(tree))
        errors.update(errors_of(tree))
    return GraphWords(
        options=tuple(found.options())[:MOST],
        errors=tuple(errors)[:MOST],
        agents=tuple(agents)[:MOST],
        adk=True,
    )


def _agents(tree: ast.Module) -> Iterator[tuple[str, None]]:
    """Yield the names that agents are given, where they are written down."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not named(node.func).endswith(AGENT):
            continue
        for keyword in node.keywords:
            text = getattr(keyword.value, "value", None)
            if keyword.arg == "name" and isinstance(text, str):
                yield text, None


@dataclass(slots=True)
class _StateKeys:
    """Gathers the keys of a state that are looked for, and values for them."""

    kinds: dict[str, str] = field(default_factory=dict[str, str])
    numbers: dict[int, None] = field(default_factory=dict[int, None])
    texts: dict[str, None] = field(default_factory=dict[str, None])
    assigned: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])

    def read(self, tree: ast.Module) -> None:
        """Take over what one source says."""
        self.assigned.update(assigned(tree))
        nodes = list(ast.walk(tree))
        for node in nodes:
            self._compared(node)
            self._looked_up(node)
        held = {name: key for node in nodes for name, key in self._held(node)}
        for node in nodes:
            self._reckoned(node, held)

    def options(self) -> Iterator[Option]:
        """Yield a value that sessions begin with, for each key."""
        for key, kind in self.kinds.items():
            yield Option(key, self._values(kind))

    def _values(self, kind: str) -> tuple[Value, ...]:
        if kind in {"int", "float"}:
            near = [n + d for n in [*self.numbers][:NEAR] for d in (-1, 0, 1)]
            return tuple(dict.fromkeys([*near, 0, 1]))
        if kind in BY_TYPE:
            return BY_TYPE[kind]
        return (*([*self.texts][:MOST] or ["a"]), "", 1)

    def _compared(self, node: ast.AST) -> None:
        if not isinstance(node, ast.Compare):
            return
        for each in (node.left, *node.comparators):
            value = getattr(each, "value", None)
            if type(value) is int:
                self.numbers[value] = None
            elif isinstance(value, str):
                self.texts[value] = None

    def _looked_up(self, node: ast.AST) -> None:
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Store):
            self._key(node.value, node.slice)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            self._key(node.comparators[0], node.left)
        elif isinstance(node, ast.Call) and _asks(node.func) and node.args:
            self._key(node.func.value, *node.args)

    def _held(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        """Yield a name that stands for the value of a key, and the key."""
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.NamedExpr):
            target, value = node.target, node.value
        else:
            return
        key = self._asked_for(value)
        if isinstance(target, ast.Name) and key is not None:
            yield target.id, key

    def _asked_for(self, value: ast.expr) -> str | None:
        """Return the key whose value an expression is."""
        if isinstance(value, ast.Subscript):
            return self._key_of(value.value, value.slice)
        if isinstance(value, ast.Call) and _asks(value.func) and value.args:
            return self._key_of(value.func.value, value.args[0])
        return None

    def _reckoned(self, node: ast.AST, held: Mapping[str, str]) -> None:
        """Take a key for a number, if its value is reckoned with as one.

        Without this, a session began with a text where the source subtracts: all that
        such a world shows is how a framework tells of a ``TypeError``.
        """
        if isinstance(node, ast.BinOp) and isinstance(node.op, RECKONING):
            operands = (node.left, node.right)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, RECKONING):
            operands = (node.target, node.value)
        else:
            return
        for each in operands:
            name = each.id if isinstance(each, ast.Name) else ""
            key = held.get(name) or self._asked_for(each)
            if key is not None and not self.kinds.get(key):
                self.kinds[key] = "float"

    def _key_of(self, holder: ast.expr, node: ast.expr) -> str | None:
        """Return the key of a state, if a caller may give its value."""
        if named(holder) != "state":
            return None
        if isinstance(node, ast.Name):
            node = self.assigned.get(node.id, node)
        text = getattr(node, "value", None)
        if not isinstance(text, str) or not text:
            return None
        scope, colon, _ = text.partition(":")
        return None if colon and scope not in KEPT else text

    def _key(self, holder: ast.expr, node: ast.expr, *defaults: ast.expr) -> None:
        text = self._key_of(holder, node)
        if text is None:
            return
        self.kinds.setdefault(text, "")
        for default in defaults:
            value = getattr(default, "value", None)
            kind = "list" if isinstance(default, ast.List) else type(value).__name__
            kind = "dict" if isinstance(default, ast.Dict) else kind
            if kind in BY_TYPE:
                self.kinds[text] = kind


def _asks(function: ast.expr) -> TypeGuard[ast.Attribute]:
    """Tell whether a call asks a mapping for a key that may be missing."""
    if not isinstance(function, ast.Attribute):
        return False
    return function.attr in {"get", "setdefault"}
