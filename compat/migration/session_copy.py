"""The temporary copy of a subject's folder, in which its sessions are run.

    with session_copy(ref, location) as copy: ...    # removed afterwards

Hundreds of worlds are played with code that may write, and none of it is to be found in
the user's folder afterwards (verdicts, Isolation). What no subject needs is left out:
version control, environments and caches.

    <temporary>/session/folder   the copy, in which the session's code runs
    <temporary>/session/home     HOME
    <temporary>/session/tmp      TMPDIR
    <temporary>/kept             what all three began with, once something is written
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from compat.migration.refs import RefError, SubjectLocation, SubjectRef
from refengine.testing.loading import ENVIRONMENTS
from refengine.testing.owned import FOLDER_NAME, folder_prefix

LARGEST: Final = 200 * 2**20
"""Bytes of a folder that is copied, at most."""
MOST: Final = 20_000
"""Files of such a folder, at most."""
LEFT_OUT: Final = frozenset(
    (
        ".git",
        ".hg",
        ".svn",
        ".cache",
        ".hypothesis",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".venv",
        "__pycache__",
        "node_modules",
        "venv",
    )
)
"""Folders that are not copied; nor is any other environment of Python."""
FOLDER: Final = "folder"
HOME: Final = "home"
TEMPORARY: Final = "tmp"


@contextmanager
def session_copy(
    ref: SubjectRef, location: SubjectLocation
) -> Generator[SubjectLocation, None, None]:
    """Yield where the subject is run instead; raises RefError or OSError.

    A commit's tree is a copy already, and is taken for one.
    """
    temporary = Path(os.path.realpath(tempfile.mkdtemp(prefix=folder_prefix())))
    top = temporary / "session"
    try:
        for each in (HOME, TEMPORARY):
            (top / each).mkdir(parents=True)
        if location.moved is None:
            yield _copied(ref, location, top)
        else:
            yield _taken(location, *location.moved, top)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _copied(ref: SubjectRef, location: SubjectLocation, top: Path) -> SubjectLocation:
    """Copy the subject's folder to where it stands as seen from the user.

    So what it opens by a name relative to its own folder is found, and what it opens
    relative to where the user stands as far as that is in the same folder.
    """
    folder = Path(os.path.realpath(location.folder))
    if ref.module is not None:
        folder = module_folder(ref.module, folder)
    here = Path(os.path.realpath(ref.cwd))
    cwd = top / FOLDER
    copy = cwd / folder.relative_to(here) if folder.is_relative_to(here) else cwd
    copy.mkdir(parents=True)
    _copy(folder, copy)
    file = location.file and copy / location.file.name
    return SubjectLocation(cwd, copy, file, (folder, copy), top)


def _taken(
    location: SubjectLocation, checkout: Path, tree: Path, top: Path
) -> SubjectLocation:
    copy = top / FOLDER
    tree.rename(copy)

    def inside(path: Path) -> Path:
        return copy / path.relative_to(tree)

    file = location.file and inside(location.file)
    places = inside(location.cwd), inside(location.folder), file
    return SubjectLocation(*places, (checkout, copy), top)


def module_folder(module: str, here: Path) -> Path:
    """Return the folder that a module's top package stands in.

    That is where the user stands, unless it is installed as editable from elsewhere.
    """
    spec = PathFinder.find_spec(module.partition(".")[0], [str(here), *sys.path])
    if spec is None or not spec.origin or not spec.has_location:
        return here
    found = Path(os.path.realpath(spec.origin)).parent
    found = found.parent if spec.submodule_search_locations else found
    is_installed = ENVIRONMENTS.intersection(found.parts)
    return here if is_installed or found.is_relative_to(here) else found


def _copy(folder: Path, target: Path) -> None:
    """Copy what stands in a folder, with its times; raises RefError.

    Others may be at work in it, as an editor with its lock files is: what vanishes
    while it is copied is left out.
    """
    sizes: Counter[str] = Counter()
    files = 0
    for path, relative in _files(folder, ()):
        if path.is_dir():
            (target / relative).mkdir(exist_ok=True)
            continue
        with suppress(FileNotFoundError):
            sizes[relative.parts[0]] += path.stat().st_size
            files += 1
            _check_size(folder, sizes, files)
            shutil.copy2(path, target / relative)


def _check_size(folder: Path, sizes: Counter[str], files: int) -> None:
    if files > MOST or sizes.total() > LARGEST:
        what = f"more than {MOST:,} files" if files > MOST else ""
        largest = sizes.most_common(1)[0][0]
        what = what or f"more than {LARGEST // 2**20} MB"
        raise RefError(
            f"{folder} has {what}, most of it in {largest!r}: a subject runs in a copy"
            " of its folder, so put it into a folder of its own, with what it needs"
        )


def _files(
    folder: Path, above: tuple[str, ...], inside: Path = Path()
) -> Iterator[tuple[Path, Path]]:
    """Yield files and folders with their names in the copy, a folder before its own.

    A link is copied as what it leads to: to write there would write into the folder.
    """
    real = os.path.realpath(folder)
    for each in _entries(folder, is_top=not above):
        path, relative = Path(each.path), inside / each.name
        if path.is_dir():  # asked of the path: an entry raises for a link to itself
            is_above = os.path.realpath(path) in {*above, real}
            is_ours = FOLDER_NAME.match(each.name)  # TMPDIR may be in here
            if is_above or is_ours or each.name in LEFT_OUT or _is_environment(path):
                continue
            yield path, relative
            yield from _files(path, (*above, real), relative)
        elif path.is_file() and os.access(path, os.R_OK):
            yield path, relative


def _entries(folder: Path, *, is_top: bool) -> list[os.DirEntry[str]]:
    """Return what stands in a folder by name; of one that vanished, nothing."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        if is_top:
            raise
        return []


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").exists()
