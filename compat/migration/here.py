"""What a folder has that could be checked, found by reading its sources alone.

    FoundHere.read(Path())

A subject is a file with a function ``subject(world)``. What makes an agent or a
middleware of a framework and has no such function could become one.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

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
MAKES: Final = frozenset(
    (
        *("create_agent", "create_react_agent", "StateGraph", "ToolNode"),
        *("LlmAgent", "Agent", "BasePlugin", "AgentMiddleware"),
        *("before_agent", "before_model", "after_model", "after_agent"),
        *("wrap_model_call", "wrap_tool_call", "dynamic_prompt"),
    )
)
"""What code imports that makes an agent, or middleware of one."""
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
    """The subjects of a folder, and files that make agents without being one."""

    subjects: tuple[FoundFile, ...] = ()
    agents: tuple[FoundFile, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> FoundHere:
        """Read the sources of a folder; what cannot be read is none of them."""
        subjects: list[FoundFile] = []
        agents: list[FoundFile] = []
        for path in islice(_sources(folder), MOST):
            tree = _tree(path)
            if tree is None:
                continue
            found = FoundFile(path.relative_to(folder), _framework(tree))
            if _has_subject(tree):
                subjects.append(found)
            elif found.framework and _makes(tree):
                agents.append(found)
        return cls(tuple(subjects), tuple(agents))

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


def _sources(folder: Path) -> Iterator[Path]:
    """Yield the files of Python, those of a folder before those below it."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(x for x in folders if x[0] != "." and x not in UNREAD)
        yield from (Path(root, x) for x in sorted(files) if x.endswith(".py"))


def _tree(path: Path) -> ast.Module | None:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes, which are not ours
            return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _has_subject(tree: ast.Module) -> bool:
    functions = (x for x in tree.body if isinstance(x, ast.FunctionDef))
    return any(x.name == "subject" and len(x.args.args) == 1 for x in functions)


def _framework(tree: ast.Module) -> str:
    named = [*_imported(tree)]
    for module, package in FRAMEWORKS:
        if any(f"{each}.".startswith(f"{module}.") for each in named):
            return package
    return ""


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def _makes(tree: ast.Module) -> bool:
    aliases = (each for each in ast.walk(tree) if isinstance(each, ast.alias))
    return any(each.name in MAKES for each in aliases)
