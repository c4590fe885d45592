"""Files of earlier commits, as git has them.

A file of an earlier commit is run from a copy of that commit's whole tree, so that what
it imports comes from that commit, too. The copy is made through an index of its own:
the user's index, files and ``.git`` are only read (verdicts, Migration).
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compat.migration.ref_errors import (
    GitFailedError,
    GitMissingError,
    NotARepositoryError,
    NotInRevisionError,
    UnknownRevisionError,
)


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
        raise GitMissingError(text)
    folder = next(each for each in file.parents if each.is_dir())
    top = _run(folder, "rev-parse", "--show-toplevel")
    checkout = Path(os.path.realpath(top.stdout.strip()))
    # The checkout is told without symbolic links, and so has the file to be.
    inside = Path(os.path.realpath(folder)) / file.relative_to(folder)
    if top.returncode or not inside.is_relative_to(checkout):
        # Also where git will not read a checkout of somebody else: it says so.
        said = (top.stderr.splitlines() or [f"the checkout is {checkout}"])[0]
        raise NotARepositoryError(text, os.path.relpath(folder), said)
    commit = _commit(checkout, name)
    if commit is None:
        raise UnknownRevisionError(text, name, _close_revision(checkout, name))
    path = inside.relative_to(checkout)
    if _git(checkout, "cat-file", "-e", f"{commit}:{path.as_posix()}") is None:
        close = _close_file(checkout, commit, path, target)
        raise NotInRevisionError(text, target, name, close)
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
            raise GitFailedError(command[0], said)


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git answers, or None if it answers with no."""
    done = _run(folder, *arguments)
    return None if done.returncode else done.stdout.strip()


def _run(
    folder: Path, *arguments: str, index: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = ("git", "-C", str(folder), *arguments)
    more = {} if index is None else {"GIT_INDEX_FILE": str(index)}
    return subprocess.run(  # noqa: S603  # the command is ours, and no shell reads it
        command,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
        errors="surrogateescape",
    )
