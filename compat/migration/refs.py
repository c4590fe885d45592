"""Naming a subject on the command line: ``module:name``, ``file.py:name``, ``REV:…``.

``ref_errors`` are the reasons why a text names none, ``revisions`` what ``REV:`` means.
"""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat.migration.ref_errors import (
    MissingFileError,
    NotAReferenceError,
    RevisionNotAllowedError,
)
from compat.migration.revisions import Revision, find_revision, write_tree

DEFAULT: Final = "subject"
"""The name that is meant where a file is named alone."""

FORMS: Final = "module:name, file.py:name or file.py"


@dataclass(frozen=True, slots=True)
class SubjectRef:
    """Which function is meant; ``text`` is how the user wrote it.

    There is a ``file`` or a ``module``. ``cwd`` is where the user stands.
    """

    text: str
    name: str
    cwd: Path
    file: Path | None = None
    module: str | None = None
    revision: Revision | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Place:
    """Where a subject is run: as in the checkout, though it may be a copy."""

    cwd: Path
    folder: Path
    file: Path | None
    moved: tuple[Path, Path] | None = None


def parse_ref(
    text: str, *, revisions: bool = False, cwd: Path | None = None
) -> SubjectRef:
    """Return which subject a text names; raises RefError.

    ``revisions`` allows ``REV:file.py:name``. Files are looked for; modules are found
    by the child, because looking for one imports the packages around it.
    """
    here = Path.cwd() if cwd is None else cwd
    revision, target, name = _parts(text)
    if not name.isidentifier():
        raise NotAReferenceError(text, f"{name!r} is no name of a function")
    if revision is not None and not revisions:
        raise RevisionNotAllowedError(text, f"{target}:{name}")
    if not target.endswith(".py"):
        return _module(text, target, name, here)
    file = Path(os.path.normpath(here / target))
    if revision is not None:
        found = find_revision(text, revision, file, target)
        return SubjectRef(text, name, here, file, revision=found)
    if not file.is_file():
        raise MissingFileError(text, target, _neighbour(file, target))
    return SubjectRef(text, name, here, file)


@contextmanager
def placed(ref: SubjectRef) -> Generator[Place, None, None]:
    """Yield where a subject is run; a copy of a commit's tree is removed afterwards."""
    if ref.revision is None:
        folder = ref.cwd if ref.file is None else ref.file.parent
        yield Place(ref.cwd, folder, ref.file)
        return
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="refengine-")))
    try:
        yield _copied(ref, ref.revision, top)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def _parts(text: str) -> tuple[str | None, str, str]:
    """Return revision, file or module, and name."""
    parts = text.split(":")
    if not all(parts):
        raise NotAReferenceError(text, f"write {FORMS}")
    is_file = [part.endswith(".py") for part in parts]
    if is_file == [True]:
        return None, text, DEFAULT
    if is_file == [False, True]:
        return parts[0], parts[1], DEFAULT
    if len(parts) == 2:
        return None, parts[0], parts[1]
    if len(parts) == 3 and is_file[1]:
        return parts[0], parts[1], parts[2]
    raise NotAReferenceError(text, f"write {FORMS}, OLD also REV:file.py:name")


def _module(text: str, target: str, name: str, here: Path) -> SubjectRef:
    if not all(part.isidentifier() for part in target.split(".")):
        raise NotAReferenceError(
            text, f"{target!r} is no module, and a file ends in .py; write {FORMS}"
        )
    return SubjectRef(text, name, here, module=target)


def _neighbour(file: Path, target: str) -> str | None:
    """Return a file beside it that is named almost so, as the user would write it."""
    there = [each.name for each in file.parent.glob("*.py")]
    close = difflib.get_close_matches(file.name, there, n=1)
    return str(Path(target).with_name(close[0])) if close else None


def _copied(ref: SubjectRef, revision: Revision, top: Path) -> Place:
    tree = top / "tree"
    tree.mkdir()
    write_tree(revision, top / "index", tree)
    here = Path(os.path.realpath(ref.cwd))
    inside = here.is_relative_to(revision.checkout)
    cwd = tree / here.relative_to(revision.checkout) if inside else tree
    file = tree / revision.file
    moved = (revision.checkout, tree)
    return Place(cwd if cwd.is_dir() else tree, file.parent, file, moved)
