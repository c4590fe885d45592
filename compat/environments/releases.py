"""The releases of a package, as pip knows them: from an index, or from folders."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Final

from packaging.version import InvalidVersion, Version

from refengine.testing.owned import run

AVAILABLE: Final = re.compile(r"^Available versions: (.+)$", re.MULTILINE)


class ReleasesError(ValueError):
    """A package, or a release of it, that there is not; says which there are."""


def releases(package: str, first: str, last: str, *, pre: bool = False) -> list[str]:
    """Return the releases from one to another, oldest first, both among them.

    One that is given as 1.4 is its first release, and as the last one its last. Those
    before a release count only with ``pre``. Raises ReleasesError.
    """
    every = sorted(map(Version, _available(package, pre=pre)))
    begin = next((each for each in every if each >= version_of(first)), None)
    end = next((each for each in reversed(every) if is_upto(each, last)), None)
    found = [str(each) for each in every if begin and end and begin <= each <= end]
    if len(found) < 2:
        known = ", ".join(map(str, every[-12:]))
        raise ReleasesError(
            f"{package}: there are no two releases from {first} to {last};"
            f" the latest are {known}"
        )
    return found


def is_upto(each: Version, last: str) -> bool:
    """Tell whether a release is no later than one; 1.5.2 is of 1.5.

    Raises ReleasesError.
    """
    wanted = version_of(last)
    return each <= wanted or each.release[: len(wanted.release)] == wanted.release


def version_of(text: str) -> Version:
    """Return what a text says; raises ReleasesError."""
    try:
        return Version(text)
    except InvalidVersion:
        raise ReleasesError(f"{text!r} is not a version") from None


def _available(package: str, *, pre: bool) -> Sequence[str]:
    command = [sys.executable, "-I", "-m", "pip", "index", "versions", package]
    done = run([*command, "--disable-pip-version-check", *(["--pre"] if pre else [])])
    found = AVAILABLE.search(done.stdout)
    if found is None:
        said = (done.stderr.strip().splitlines() or ["pip says nothing"])[-1]
        raise ReleasesError(f"{package}: no releases are known: {said}")
    return found[1].split(", ")
