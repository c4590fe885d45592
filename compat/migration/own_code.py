"""Whose code is whose, where both sides have a file: what each subject leads to.

    the files of both sides → which of their lines are OLD's, and which are NEW's

A helper that NEW imports from OLD's module is OLD's: whether its branches were taken,
and whether changes of it are noticed, says nothing of NEW. Two subjects in one file
each have what only they lead to by name.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import decode_source
from typing import Self, TypeAlias

from compat.migration.reproducer import SideFiles
from refengine.testing.small_changes import bound_by
from refengine.testing.subject_worlds.source import python_source

Owns: TypeAlias = Callable[[str, int], bool]
"""Whether a line of a file is a side's own."""


def owns_all(_file: str, _line: int) -> bool:
    """Say that every line is a side's own."""
    return True


@dataclass(frozen=True, slots=True)
class LedTo:
    """The files of a side, and the names in them that its subject leads to."""

    files: SideFiles
    trees: Mapping[str, ast.Module]
    names: frozenset[str]
    homes: frozenset[str]

    @classmethod
    def of(cls, files: SideFiles) -> Self:
        """Return what a side's subject leads to by name."""
        trees = trees_of(files.files)
        homes = homes_of(trees, files)
        return cls(files, trees, reached(trees, files), homes)

    def leads_to(self, file: str, line: int) -> bool:
        """Tell whether it leads to the statement of a module that a line stands in.

        To one that binds no name it does wherever its file is imported.
        """
        for node in self.trees[file].body if file in self.trees else ():
            if node.lineno <= line <= (node.end_lineno or line):
                bound = bound_by(node)
                # Elsewhere than in its own file it is another subject of that name.
                other = set[str]() if file in self.homes else {self.files.name}
                return not bound or not (self.names - other).isdisjoint(bound)
        return True

    def same(self, text: bytes) -> str | None:
        """Return which of its files has this text, None if none has."""
        found = (name for name, each in self.files.files.items() if each == text)
        return next(found, None)


@dataclass(frozen=True, slots=True)
class OwnCode:
    """The code of both sides. One piece of code that is both sides is that of both."""

    old: LedTo
    new: LedTo

    @classmethod
    def of(cls, old: SideFiles, new: SideFiles) -> Self:
        """Return whose code is whose."""
        return cls(LedTo.of(old), LedTo.of(new))

    def is_old(self, file: str, line: int) -> bool:
        """Tell whether a line of a file of OLD's is not NEW's alone."""
        there = self.new.same(self.old.files.files.get(file, b""))
        if there is None or self._is_one:
            return True
        return self.old.leads_to(file, line) or not self.new.leads_to(there, line)

    def is_new(self, file: str, line: int) -> bool:
        """Tell whether a line of a file of NEW's is not OLD's, too."""
        there = self.old.same(self.new.files.files.get(file, b""))
        if there is None or self._is_one:
            return True
        return self.new.leads_to(file, line) and not self.old.leads_to(there, line)

    @property
    def _is_one(self) -> bool:
        old, new = self.old.files, self.new.files
        same = old.files[old.entry] == new.files[new.entry]
        return same and old.name == new.name


def trees_of(files: Mapping[str, bytes]) -> dict[str, ast.Module]:
    """Return the syntax trees of those files that have one."""
    found = ((name, python_source(decoded(text)).tree) for name, text in files.items())
    return {name: tree for name, tree in found if tree is not None}


def decoded(text: bytes) -> str:
    """Return the text of a source, "" if it cannot be read."""
    try:
        return decode_source(text)
    except (SyntaxError, UnicodeDecodeError):
        return ""


def homes_of(trees: Mapping[str, ast.Module], side: SideFiles) -> frozenset[str]:
    """Return the files in which a side's subject may stand: its own, if it does there.

    That one may have it from another; there a subject of the same name is not it.
    """
    entry = trees.get(side.entry)
    if entry and any(side.name in bound_by(node) for node in entry.body):
        return frozenset((side.entry,))
    return frozenset(trees)


def reached(trees: Mapping[str, ast.Module], side: SideFiles) -> frozenset[str]:
    """Return the names at the top of modules that a subject leads to, by name."""
    tops: dict[str, list[ast.stmt]] = {}
    homes, subject = homes_of(trees, side), side.name
    for file, tree in trees.items():
        for node in tree.body:
            for name in bound_by(node):
                if name != subject or file in homes:
                    tops.setdefault(name, []).append(node)
    found, waiting = {subject}, deque([subject])
    while waiting:
        for node in tops.get(waiting.popleft(), ()):
            new = {name for name in mentioned(node) if name in tops} - found
            found |= new
            waiting += sorted(new)
    return frozenset(found)


def mentioned(node: ast.AST) -> Iterator[str]:
    """Yield the names and attributes that stand in a piece of code."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr
