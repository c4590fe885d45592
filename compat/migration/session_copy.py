"""The temporary copy of a subject's folder, in which its sessions are run.

    with session_copy(location) as copy: ...    # removed afterwards

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
import select
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from compat.migration.refs import RefError, SubjectLocation, SubjectRef
from refengine.testing.loading import ENVIRONMENTS

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


class LeftBehindWarning(UserWarning):
    """Processes that a subject has started, and that nobody here can end."""


@contextmanager
def session_copy(
    ref: SubjectRef, location: SubjectLocation
) -> Generator[SubjectLocation, None, None]:
    """Yield where the subject is run instead; raises RefError or OSError.

    A commit's tree is a copy already, and is taken for one.
    """
    temporary = Path(os.path.realpath(tempfile.mkdtemp(prefix="refengine-")))
    top = temporary / "session"
    try:
        for each in (HOME, TEMPORARY):
            (top / each).mkdir(parents=True)
        if location.moved is None:
            yield _copied(ref, location, top)
        else:
            yield _taken(location, *location.moved, top)
    finally:
        left = end_survivors(temporary)
        shutil.rmtree(temporary, ignore_errors=True)
        if left:
            text = f"{ref}: started processes that could not be ended: {left}"
            warnings.warn(text, LeftBehindWarning, stacklevel=2)


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
        if each.is_dir():
            is_above = os.path.realpath(path) in {*above, real}
            if is_above or each.name in LEFT_OUT or _is_environment(path):
                continue
            yield path, relative
            yield from _files(path, (*above, real), relative)
        elif each.is_file() and os.access(path, os.R_OK):
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


# Processes that outlive the side that started them, in sessions of their own: whoever
# leaves the child's process group is not ended with it. What nearly all of them have is
# the temporary folder: as HOME, unless they were given another environment, or as the
# folder they run in. Found so, they are ended before the folder is removed. Who plays
# programs in a network of their own knows the others as well, by ``more``.

ROUNDS: Final = 5
"""So often they are looked for: one that is starting another is found the next time."""
PATIENCE: Final = 5.0
"""Seconds that one may take to end."""
PROCESSES: Final = Path("/proc")


def nobody() -> Iterable[int]:
    """Return no process."""
    return ()


def end_survivors(
    folder: Path, more: Callable[[], Iterable[int]] = nobody
) -> list[int]:
    """End all processes that run in this folder or were given it; return who is left.

    Only Linux says of a process where it runs.
    """
    for _ in range(ROUNDS):
        left = alive_in(folder, more)
        if not left:
            return []
        for pid in left:
            _end(pid)
    return alive_in(folder, more)


def alive_in(folder: Path, more: Callable[[], Iterable[int]] = nobody) -> list[int]:
    """Return the processes that run in this folder or were given it, on Linux."""
    if sys.platform != "linux":
        return []
    found = {*_survivors(f"{folder}/"), *more()}
    return [pid for pid in sorted(found) if not _is_over(pid)]


def _end(pid: int) -> None:
    """End a process, and wait until it has: on a busy machine that takes a moment."""
    with suppress(OSError):  # it ended by itself, or is somebody else's
        process = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(process, signal.SIGKILL)
            select.select([process], (), (), PATIENCE)
        finally:
            os.close(process)


def _survivors(folder: str) -> Iterator[int]:
    mine = os.getpid()
    home = f"={folder}".encode()
    for each in os.scandir(PROCESSES):
        if each.name.isdecimal() and int(each.name) != mine:
            with suppress(OSError):  # it is gone, or another user's
                runs_in = os.readlink(f"{each.path}/cwd")  # noqa: PTH115  # many, as texts
                given = Path(each.path, "environ").read_bytes()
                if f"{runs_in}/".startswith(folder) or home in given:
                    yield int(each.name)


def _is_over(pid: int) -> bool:
    """Tell whether it has ended, and only nobody has asked how."""
    with suppress(OSError):
        stat = Path(PROCESSES, str(pid), "stat").read_text("utf-8", errors="replace")
        return stat.rpartition(")")[2].split()[0] in {"Z", "X"}
    return True
