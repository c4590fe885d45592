"""The environments that are kept: each is made once, and never changed afterwards.

    with kept(packages_of(["langchain==1.4.*"], Path.cwd())) as made:
        made.python            # runs with that

They stand below the user's cache folder, or in $REFENGINE_ENVIRONMENTS, each called by
what is in it: requirements, Python, platform and the harness' version. One is made in a
folder beside its place and renamed when it is whole. Who makes one holds its lock
alone, and who uses one holds it with others: none is made twice or removed in use.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, Final

from compat.environments.making import SCRIPTS, make, python_in
from compat.environments.naming import PackageChoice
from compat.environments.pythons import (
    PythonError,
    PythonFacts,
    asked,
    lacks,
    python_named,
)

MOVED_BY: Final = "REFENGINE_ENVIRONMENTS"
"""The variable that names another folder for environments."""
MANIFEST: Final = "refengine-environment.json"
"""The file in an environment that says what it was made of; written last of all."""
HALF_MADE: Final = ".making-"
GONE: Final = ".gone-"


@dataclass(frozen=True, slots=True)
class SideEnvironment:
    """What one side runs with: a Python, and the packages that stand in its folders."""

    shown: str
    folder: Path
    python: Path
    version: str
    sites: tuple[Path, ...]
    packages: Mapping[str, str]

    @property
    def variables(self) -> Mapping[str, str]:
        """What a process that runs in it finds in its environment."""
        path = os.environ.get("PATH", os.defpath)
        first = f"{self.folder / SCRIPTS}{os.pathsep}{path}"
        return {"PATH": first, "VIRTUAL_ENV": str(self.folder)}


@dataclass(frozen=True, slots=True)
class KeptEnvironment:
    """An environment of the cache, as a list shows it."""

    name: str
    folder: Path
    python: str
    made_of: str
    packages: int


def cache() -> Path:
    """Return the folder in which environments are kept."""
    return cache_folder(MOVED_BY, "environments")


def cache_folder(moved_by: str, name: str) -> Path:
    """Return the folder of the user's cache for what is called so; raises OSError.

    It may have been ``moved_by`` a variable.
    """
    moved = os.environ.get(moved_by)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(moved) if moved else Path(base) / "refengine" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


@contextmanager
def kept(choice: PackageChoice) -> Generator[SideEnvironment, None, None]:
    """Yield the environment of a choice, made first if there is none.

    Raises PythonError or EnvironmentMakingError.
    """
    if choice.existing is not None:
        yield _existing(choice, choice.existing)
        return
    python = python_named(choice.python)
    folder = cache() / key_of(choice, python)
    with _lock(folder).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if not _is_whole(folder):
            _made(folder, python, choice, lock)
        yield _environment(choice.shown, folder, python_in(folder))


def key_of(choice: PackageChoice, python: PythonFacts) -> str:
    """Return what an environment is called: the hash of all that decides on it."""
    parts = [
        choice.content,
        python.version,
        python.implementation,
        python.platform,
        version("refengine"),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def environments() -> Iterator[KeptEnvironment]:
    """Yield those that are kept, by name, also where the Python they need is gone."""
    for folder in sorted(cache().iterdir()):
        if (folder / MANIFEST).is_file():
            said = json.loads((folder / MANIFEST).read_text("utf-8"))
            python = said["python"] + ("" if _is_whole(folder) else ", which is gone")
            yield KeptEnvironment(
                folder.name, folder, python, said["made_of"], said["packages"]
            )


def remove(folder: Path) -> bool:
    """Remove one that is kept; tell whether it could be: one in use cannot."""
    with _lock(folder).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        gone = Path(tempfile.mkdtemp(prefix=GONE, dir=folder.parent))
        with suppress(FileNotFoundError):  # somebody else removed it
            folder.rename(gone / folder.name)
        shutil.rmtree(gone, ignore_errors=True)
        return True


def remove_left() -> None:
    """Remove what was left by whoever was killed while he made or removed one."""
    for each in cache().glob(f"{GONE}*"):
        shutil.rmtree(each, ignore_errors=True)
    for each in cache().glob(f"{HALF_MADE}*"):
        name = each.name.removeprefix(HALF_MADE).partition("-")[0]
        with _lock(each.parent / name).open("a") as lock, suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(each, ignore_errors=True)


def _made(
    folder: Path, python: PythonFacts, choice: PackageChoice, lock: IO[str]
) -> None:
    """Make an environment, alone; whoever waited may find it made by another."""
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not _is_whole(folder):
        prefix = f"{HALF_MADE}{folder.name}-"
        for left in folder.parent.glob(f"{prefix}*"):  # by one who was killed
            shutil.rmtree(left, ignore_errors=True)
        half = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
        try:
            make(half, folder, python, choice)
            _sign(half, choice)
            shutil.rmtree(folder, ignore_errors=True)  # whose Python is gone
            half.rename(folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    fcntl.flock(lock, fcntl.LOCK_SH)


def _sign(folder: Path, choice: PackageChoice) -> None:
    facts = asked(python_in(folder))
    told = {
        "made_of": choice.shown,
        "python": facts.version,
        "packages": len(facts.packages),
    }
    (folder / MANIFEST).write_text(json.dumps(told, indent=2), "utf-8")


def _is_whole(folder: Path) -> bool:
    return (folder / MANIFEST).is_file() and python_in(folder).exists()


def _lock(folder: Path) -> Path:
    locks = folder.parent / "locks"
    locks.mkdir(exist_ok=True)
    return locks / folder.name


def _existing(choice: PackageChoice, folder: Path) -> SideEnvironment:
    """Return an environment of the user's own, which is not touched."""
    python = python_in(folder)
    if not python.exists():
        raise PythonError(choice.shown, f"there is no {python}; make it anew")
    found = _environment(choice.shown, folder, python)
    missing = lacks(found.packages)
    if missing is not None:
        raise PythonError(choice.shown, f"{missing}; install it there")
    return found


def _environment(shown: str, folder: Path, python: Path) -> SideEnvironment:
    facts = asked(python)
    return SideEnvironment(
        shown, folder, python, facts.version, facts.sites, facts.packages
    )
