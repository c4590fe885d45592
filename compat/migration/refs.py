"""Naming a subject on the command line: ``module:name``, ``file.py:name``, ``REV:…``.

A file of an earlier commit is run from a copy of that commit's whole tree, so that what
it imports comes from that commit, too. The copy is made through an index of its own:
the user's index, files and ``.git`` are only read (verdicts, Migration).
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compat.environments.cache import SideEnvironment
from refengine.testing.ordering import Move
from refengine.testing.owned import folder_prefix, run


class RefError(ValueError):
    """A reference that names no subject, or one that cannot be played as is asked."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit of a checkout, and the file's path in it."""

    name: str
    commit: str
    checkout: Path
    file: Path


def find_revision(text: str, name: str, file: Path, target: str) -> Revision:
    """Return that commit, with the file in it; raises RefError.

    ``text`` and ``target`` are what the user wrote: all of it, and the file.
    """
    if shutil.which("git") is None:
        raise RefError(
            f"{text!r} is of an earlier commit, but git is not installed:"
            " install it, or give a copy of the file"
        )
    folder = next(each for each in file.parents if each.is_dir())
    top = _run(folder, "rev-parse", "--show-toplevel")
    checkout = Path(os.path.realpath(top.stdout.strip()))
    # git names the checkout without symbolic links, and so has the file to be.
    inside = Path(os.path.realpath(folder)) / file.relative_to(folder)
    if top.returncode or not inside.is_relative_to(checkout):
        # Also where git will not read a checkout of somebody else: it says so.
        said = (top.stderr.splitlines() or [f"the checkout is {checkout}"])[0]
        raise RefError(
            f"{text!r}: {os.path.relpath(folder)} is in no git repository ({said});"
            " go to the checkout, or give a file without a revision"
        )
    commit = _commit(checkout, name)
    if commit is None:
        close = _close_revision(checkout, name)
        hint = f"did you mean {close!r}?" if close else "give a commit, branch or tag"
        raise RefError(f"{text!r}: there is no revision {name!r}; {hint}")
    path = inside.relative_to(checkout)
    if _git(checkout, "cat-file", "-e", f"{commit}:{path.as_posix()}") is None:
        close = _close_file(checkout, commit, path, target)
        hint = f"did you mean {close}?" if close else "give one in which it is"
        raise RefError(f"{text!r}: {target} is not in revision {name!r}; {hint}")
    return Revision(name, commit, checkout, path)


def _commit(checkout: Path, name: str) -> str | None:
    if name.startswith("-"):
        return None  # git would take it for an option
    return _git(checkout, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")


def _close_revision(checkout: Path, name: str) -> str | None:
    refs = _git(checkout, "for-each-ref", "--format=%(refname:short)") or ""
    return next(iter(difflib.get_close_matches(name, refs.split(), n=1)), None)


def _close_file(checkout: Path, commit: str, path: Path, target: str) -> str | None:
    folder = "" if path.parent == Path() else f"{path.parent.as_posix()}/"
    names = _git(checkout, "ls-tree", "--name-only", f"{commit}:{folder}") or ""
    there = [name for name in names.splitlines() if name.endswith(".py")]
    close = difflib.get_close_matches(path.name, there, n=1)
    return str(Path(target).with_name(close[0])) if close else None


def write_tree(revision: Revision, index: Path, tree: Path) -> None:
    """Write the commit's files out, through an index that is thrown away.

    ``git archive`` leaves out what is marked export-ignore, often the tests;
    ``git worktree`` writes into ``.git``. The settings keep an index of another place
    from being shared, watched or announced to hooks.
    """
    keep = ("splitIndex=false", "fsmonitor=false", "sparseCheckout=false")
    settings = [part for each in keep for part in ("-c", f"core.{each}")]
    settings += ["-c", f"core.hooksPath={os.devnull}"]
    for command in (
        ("read-tree", revision.commit),
        ("checkout-index", "--all", "--quiet", f"--prefix={tree}{os.sep}"),
    ):
        done = _run(revision.checkout, *settings, *command, index=index)
        if done.returncode:
            said = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
            raise RefError(f"git {command[0]} failed: {said}; try it by hand")


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git answers, or None if it answers with no."""
    done = _run(folder, *arguments)
    return None if done.returncode else done.stdout.strip()


def _run(
    folder: Path, *arguments: str, index: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = ("git", "-C", str(folder), *arguments)
    more = {} if index is None else {"GIT_INDEX_FILE": str(index)}
    return run(command, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", **more})


DEFAULT: Final = "subject"
"""The name that is meant where a file of Python is named alone."""
PYTHON: Final = "python"
GO: Final = "go"
TYPESCRIPT: Final = "typescript"
LANGUAGES: Final = MappingProxyType({".py": PYTHON, ".go": GO, ".ts": TYPESCRIPT})
"""What files of subjects end in, and in which language they are."""
IN_FOLDERS: Final = ".go"
"""What files end in whose folder is a subject, too: a package."""

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
    engine: str | None = None
    """On which engine it is played, if that is said and it is not of Python."""
    environment: SideEnvironment | None = None
    """What its process runs with, if not with what the harness does."""
    setup: Path | None = None
    """A file that its process runs before it imports the subject."""
    same_code: bool = False
    """Whether the other side is the same code, so that a graph's nodes are compared."""
    order: tuple[Move, ...] | None = None
    """What is moved in the lists of its extensions, which are told if it is given."""

    def __str__(self) -> str:
        return self.text

    @property
    def language(self) -> str:
        """In which language it is written."""
        if self.file is None:
            return PYTHON
        return LANGUAGES.get(self.file.suffix, LANGUAGES[IN_FOLDERS])


@dataclass(frozen=True, slots=True)
class SubjectLocation:
    """Where a subject is run: as in the checkout, though it may be a copy.

    ``moved`` are the folder that was copied and the copy, and ``isolation`` is the
    temporary folder of its sessions, if it has one.
    """

    cwd: Path
    folder: Path
    file: Path | None
    moved: tuple[Path, Path] | None = None
    isolation: Path | None = None


def not_a_subject(text: str, why: str) -> RefError:
    """Return the error of a text that has none of the forms."""
    return RefError(f"{text!r} names no subject: {why}")


def parse_ref(
    text: str, *, revisions: bool = False, cwd: Path | None = None
) -> SubjectRef:
    """Return which subject a text names; raises RefError.

    ``revisions`` allows ``REV:file.py:name``. Files are looked for; modules are found
    by the child, because looking for one imports the packages around it.
    """
    here = Path.cwd() if cwd is None else cwd
    revision, target, name = _parts(text, here)
    if name and not name.isidentifier():
        raise not_a_subject(text, f"{name!r} is not the name of a function")
    if revision is not None and not revisions:
        only = f"only OLD may have a revision; give {target}:{name}"
        raise RefError(f"{text!r}: {only}")
    if not _is_file(target, here):
        return _module(text, target, name, here)
    file = Path(os.path.normpath(here / target))
    if revision is not None:
        found = find_revision(text, revision, file, target)
        return SubjectRef(text, name, here, file, revision=found)
    if not file.exists():
        close = _neighbour(file, target)
        place = "here" if cwd is None else "the folder of the file that names it"
        hint = f"did you mean {close}?" if close else f"give its path from {place}"
        raise RefError(f"{text!r}: there is no file {target}; {hint}")
    return SubjectRef(text, name, here, file)


@contextmanager
def located(ref: SubjectRef) -> Generator[SubjectLocation, None, None]:
    """Yield where a subject is run; a copy of a commit's tree is removed afterwards."""
    if ref.revision is None:
        folder = ref.cwd if ref.file is None else ref.file.parent
        yield SubjectLocation(ref.cwd, folder, ref.file)
        return
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix=folder_prefix())))
    try:
        yield _copied(ref, ref.revision, top)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def _is_file(target: str, here: Path) -> bool:
    """Tell whether a text names a file of a subject, or a folder that is one."""
    if target.endswith(tuple(LANGUAGES)):
        return True
    folder = here / target
    return folder.is_dir() and any(folder.glob(f"*{IN_FOLDERS}"))


def _default(target: str) -> str:
    """Return the name that is meant where none is given; "" where it is looked for."""
    return DEFAULT if target.endswith(".py") else ""


def _parts(text: str, here: Path) -> tuple[str | None, str, str]:
    """Return revision, file or module, and name."""
    parts = _split(text)
    if not all(parts):
        raise not_a_subject(text, f"write {FORMS}")
    is_file = [_is_file(part, here) for part in parts]
    if is_file == [True]:
        return None, text, _default(text)
    if is_file == [False, True]:
        return parts[0], parts[1], _default(parts[1])
    if len(parts) == 2:
        return None, parts[0], parts[1]
    if len(parts) == 3 and is_file[1]:
        return parts[0], parts[1], parts[2]
    if len(parts) == 1 and (here / text).is_dir():
        raise not_a_subject(text, "it is a folder; name a file in it, as folder/old.py")
    raise not_a_subject(text, f"write {FORMS}, OLD also REV:file.py:name")


def _split(text: str) -> list[str]:
    r"""Return the parts between colons, of which that of ``C:\old.py`` is none."""
    parts: list[str] = []
    for part in text.split(":"):
        drive = parts and len(parts[-1]) == 1 and parts[-1].isalpha()
        if drive and part[:1] in {"\\", "/"}:
            parts[-1] += f":{part}"
        else:
            parts.append(part)
    return parts


def _module(text: str, target: str, name: str, here: Path) -> SubjectRef:
    if not all(part.isidentifier() for part in target.split(".")):
        raise not_a_subject(
            text, f"{target!r} is not a module, and a file ends in .py; write {FORMS}"
        )
    if target.partition(".")[0] in sys.stdlib_module_names:
        raise not_a_subject(text, f"{target!r} is a module of Python itself")
    return SubjectRef(text, name, here, module=target)


def _neighbour(file: Path, target: str) -> str | None:
    """Return a file beside it that is named almost so, as the user would write it."""
    there = [each.stem for each in file.parent.glob("*.py")]
    close = difflib.get_close_matches(file.stem, there, n=1)
    return str(Path(target).with_name(f"{close[0]}.py")) if close else None


def _copied(ref: SubjectRef, revision: Revision, top: Path) -> SubjectLocation:
    tree = top / "tree"
    tree.mkdir()
    write_tree(revision, top / "index", tree)
    here = Path(os.path.realpath(ref.cwd))
    inside = here.is_relative_to(revision.checkout)
    cwd = tree / here.relative_to(revision.checkout) if inside else tree
    file = tree / revision.file
    moved = (revision.checkout, tree)
    return SubjectLocation(cwd if cwd.is_dir() else tree, file.parent, file, moved)
