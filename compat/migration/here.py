"""What a folder has that could be checked, found by reading its sources alone.

    FoundHere.read(Path())

A subject is a file with a function ``subject(world)``, in Go and TypeScript one without
a world. What makes an agent or a middleware of a framework and has no such function
could become one.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

from refengine.testing.subject_worlds.source import (
    PythonSource,
    modules_of,
    python_source,
)

MOST: Final = 500
"""So many files are read."""
LARGEST: Final = 1 << 20
"""A file of more bytes was not written by hand."""
UNREAD: Final = frozenset(("__pycache__", "build", "dist", "node_modules", "venv"))
FRAMEWORKS: Final = (
    ("google.adk", "google-adk"),
    ("pydantic_ai", "pydantic-ai"),
    ("langchain", "langchain"),
    ("langgraph", "langgraph"),
    ("refengine", "refengine"),
)
"""Which framework a file is written to: the first that it imports, and its package."""
OTHERS: Final = MappingProxyType(
    {
        ".go": (
            re.compile(r"^func Subject\(", re.MULTILINE),
            (("cloudwego/eino", "eino"), ("google.golang.org/adk", "adk-go")),
        ),
        ".ts": (
            re.compile(r"^export (?:async )?function subject\(", re.MULTILINE),
            (('from "ai"', "ai-sdk"), ('from "langchain"', "langchain-js")),
        ),
    }
)
"""How a subject looks in another language, and what it is written to."""
MAKES: Final = frozenset(
    (
        *("create_agent", "create_react_agent", "StateGraph", "ToolNode"),
        *("LlmAgent", "Agent", "BasePlugin", "AgentMiddleware"),
        *("before_agent", "before_model", "after_model", "after_agent"),
        *("wrap_model_call", "wrap_tool_call", "dynamic_prompt"),
    )
)
"""What code imports that makes an agent, or middleware of one."""
BUILD: Final = len(("self", "config", "on_notice"))
"""So many arguments has what builds an agent, in a door to an engine."""
PAIRS: Final = (
    ("old", "new"),
    ("before", "after"),
    ("legacy", "migrated"),
    ("v1", "v2"),
    ("old", "right"),
)
"""What both sides of a migration are called."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of Python and the framework that it is written to, by its package."""

    path: Path
    framework: str


@dataclass(frozen=True, slots=True)
class FoundHere:
    """The subjects of a folder, and files that make agents without being one.

    ``doors`` are doors to engines, as ``conform`` takes them; so many migrations are
    ``declared`` in a migration.toml.
    """

    subjects: tuple[FoundFile, ...] = ()
    agents: tuple[FoundFile, ...] = ()
    doors: tuple[str, ...] = ()
    declared: int = 0

    @classmethod
    def read(cls, folder: Path) -> FoundHere:
        """Read the sources of a folder; what cannot be read is none of them."""
        subjects: list[FoundFile] = []
        agents: list[FoundFile] = []
        doors: list[str] = []
        for path in islice(sources_in(folder, (".py", *OTHERS)), MOST):
            if path.suffix in OTHERS:
                framework = _other_framework(path)
                if framework is not None:
                    subjects.append(FoundFile(path.relative_to(folder), framework))
                continue
            source = source_of(path)
            if source is None or source.tree is None:
                continue
            found = FoundFile(path.relative_to(folder), _framework(source))
            if _has_subject(source.tree):
                subjects.append(found)
            elif found.framework and _makes(source):
                agents.append(found)
            doors += [f"{found.path}:{name}" for name in _doors(source.tree)]
        declared = sum(1 for _ in sources_in(folder, ("migration.toml",)))
        return cls(tuple(subjects), tuple(agents), tuple(doors), declared)

    @property
    def pair(self) -> tuple[FoundFile, FoundFile] | None:
        """The subjects that are called as the sides of a migration, if any are.

        Else the only two that there are.
        """
        there = {each.path: each for each in self.subjects}
        for old, new in PAIRS:
            for each in self.subjects:
                if old in each.path.stem:
                    name = each.path.name.replace(old, new, 1)
                    other = there.get(each.path.with_name(name))
                    if other is not None:
                        return each, other
        if len(self.subjects) != 2:
            return None
        one, other = self.subjects
        return one, other


def sources_in(folder: Path, suffixes: tuple[str, ...] = (".py",)) -> Iterator[Path]:
    """Yield the files that end so, those of a folder before those below it."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(x for x in folders if x[0] != "." and x not in UNREAD)
        yield from (Path(root, x) for x in sorted(files) if x.endswith(suffixes))


def source_of(path: Path) -> PythonSource | None:
    """Return the source of a file that somebody wrote by hand, if it can be read."""
    try:
        if not _by_hand(path):
            return None
        return python_source(path.read_bytes())
    except OSError:
        return None


def _other_framework(path: Path) -> str | None:
    """Return what a subject in Go or TypeScript is written to; None if it is none."""
    try:
        text = path.read_text("utf-8", "replace") if _by_hand(path) else ""
    except OSError:
        return None
    shape, frameworks = OTHERS[path.suffix]
    if not shape.search(text):
        return None
    return next((name for module, name in frameworks if module in text), "")


def _by_hand(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= LARGEST


def _has_subject(tree: ast.Module) -> bool:
    functions = (x for x in tree.body if isinstance(x, ast.FunctionDef))
    return any(x.name == "subject" and len(x.args.args) == 1 for x in functions)


def _doors(tree: ast.Module) -> Iterator[str]:
    """Yield the classes that build an agent as a door does."""
    for each in (x for x in tree.body if isinstance(x, ast.ClassDef)):
        builds = (x for x in each.body if isinstance(x, ast.AsyncFunctionDef))
        if any(x.name == "build" and len(x.args.args) == BUILD for x in builds):
            yield each.name


def _framework(source: PythonSource) -> str:
    named = [*modules_of(source.imported)]
    for module, package in FRAMEWORKS:
        if any(f"{each}.".startswith(f"{module}.") for each in named):
            return package
    return ""


def _makes(source: PythonSource) -> bool:
    return any(each.name in MAKES for node in source.imported for each in node.names)
