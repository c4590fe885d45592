"""Which small changes of NEW are played, and in which order.

Those of code that its subject can come to: a module may hold other subjects, too. What
names lead to is enough for that; a hook that a framework calls belongs to its class.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import decode_source
from typing import Final

from refengine.testing.small_changes import SmallChange, bound_by, small_changes
from refengine.testing.subject_worlds.source import python_source

Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A small change of one of the files, and the text of its line.

    ``near`` are the lines that a world has to reach for it to matter; None if it
    matters wherever the subject is loaded.
    """

    file: str
    change: SmallChange
    source: str
    near: frozenset[Line] | None

    @property
    def pin(self) -> tuple[str, str, str]:
        """What a mark in the settings names it by."""
        return self.file, self.source, self.change.text


FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def changes_of(
    files: Mapping[str, bytes], subject: str, old: Iterable[bytes]
) -> list[FoundChange]:
    """Return all changes of these files that a subject can come to.

    Lines that no source of ``old`` has come first, then the others, each in the order
    of files and lines.
    """
    sources = {name: _decoded(text) for name, text in files.items()}
    found = ((name, python_source(text).tree) for name, text in sources.items())
    trees = {name: tree for name, tree in found if tree is not None}
    names = reached(trees, subject)
    uses = {name: dict(_uses(tree)) for name, tree in trees.items()}
    known = {line.strip() for text in old for line in _decoded(text).splitlines()}
    changes: list[FoundChange] = []
    for name in trees:
        lines = sources[name].splitlines()
        for change in small_changes(files[name]):
            if not change.owners or not names.isdisjoint(change.owners):
                text = lines[change.line - 1].strip()
                near = _near(name, change, uses)
                changes.append(FoundChange(name, change, text, near))
    return sorted(changes, key=lambda each: each.source in known)


def spread(found: Sequence[FoundChange], most: int) -> list[FoundChange]:
    """Return so many of these changes at most, from all over them, in their order."""
    if len(found) <= most:
        return list(found)
    return [found[at * len(found) // most] for at in range(most)]


def reached(trees: Mapping[str, ast.Module], subject: str) -> frozenset[str]:
    """Return the names at the top of modules that a subject leads to, by name."""
    tops: dict[str, list[ast.stmt]] = {}
    for tree in trees.values():
        for node in tree.body:
            for name in bound_by(node):
                tops.setdefault(name, []).append(node)
    found, waiting = {subject}, deque([subject])
    while waiting:
        for node in tops.get(waiting.popleft(), ()):
            new = {name for name in _mentioned(node) if name in tops} - found
            found |= new
            waiting += sorted(new)
    return frozenset(found)


def _mentioned(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def _uses(tree: ast.Module) -> Iterator[tuple[str, set[int]]]:
    """Yield each name with the lines of the statements in functions that use it."""
    found: dict[str, set[int]] = {}
    inside = [
        each
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
        for each in node.body
    ]
    waiting = deque(inside)
    while waiting:
        node = waiting.popleft()
        parts = list(ast.iter_child_nodes(node))
        waiting += (each for each in parts if isinstance(each, ast.stmt))
        for part in parts:
            if not isinstance(part, ast.stmt):
                for name in _mentioned(part):
                    found.setdefault(name, set()).add(node.lineno)
    yield from found.items()


def _near(
    file: str, change: SmallChange, uses: Mapping[str, Mapping[str, set[int]]]
) -> frozenset[Line] | None:
    if change.statement is not None:
        return frozenset([(file, change.statement)])
    lines = frozenset(
        (name, line)
        for name, used in uses.items()
        for owner in change.owners
        for line in used.get(owner, ())
    )
    return lines or None


def _decoded(text: bytes) -> str:
    try:
        return decode_source(text)
    except (SyntaxError, UnicodeDecodeError):
        return ""
