"""Pythons: which one is meant, whether it runs, and what is installed for it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions, requires
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from refengine.testing.owned import run

PATIENCE: Final = 60.0
"""Seconds that a Python may take to say what it is."""
LEAST: Final = (3, 11)
"""The oldest Python in which the harness' part of a side runs."""
NEEDED: Final = "pydantic"
"""What the harness' part of a side imports beside the standard library."""
NOT_SHOWN: Final = frozenset(("pip", "setuptools", "wheel"))
"""What installs packages, and is in an environment for that alone."""

_SAYS: Final = """\
import json, platform, sys, sysconfig
print(json.dumps({
    "executable": sys.executable,
    "version": platform.python_version(),
    "implementation": sys.implementation.cache_tag,
    "platform": sysconfig.get_platform(),
    "sites": [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")],
}))
"""


class PythonError(ValueError):
    """A Python that is not there, does not run, or is too old."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text}: {why}")


@dataclass(frozen=True, slots=True)
class PythonFacts:
    """A Python that runs: where it is, which one, and where its packages stand."""

    executable: Path
    version: str
    implementation: str
    platform: str
    sites: tuple[Path, ...]

    @property
    def packages(self) -> Mapping[str, str]:
        """The versions of what is installed for it, by name."""
        return packages_in(self.sites)


def packages_in(folders: Sequence[Path] | None = None) -> Mapping[str, str]:
    """Return the versions of what stands in folders, or on our own path, by name."""
    found: dict[str, str] = {}
    for each in _distributions(folders):
        found.setdefault(canonicalize_name(each.name), each.version)
    return {name: found[name] for name in sorted(found) if name not in NOT_SHOWN}


def packages_with(
    folders: Sequence[Path] | None,
) -> Iterator[tuple[str, str, AbstractSet[str]]]:
    """Yield name, version and files of what stands in folders, or on our own path."""
    for each in _distributions(folders):
        yield each.name, each.version, {str(file) for file in each.files or ()}


def _distributions(folders: Sequence[Path] | None) -> Iterator[Distribution]:
    path = sys.path if folders is None else [*map(str, folders)]
    # What an install left half-removed has no name.
    return (each for each in distributions(path=path) if each.metadata["Name"])


def python_named(text: str | None) -> PythonFacts:
    """Return the Python of that name or path, or our own; raises PythonError."""
    if text is None:
        return asked(sys.executable)
    found = shutil.which(text)
    try:
        if found is None:
            raise PythonError(text, "there is no such Python")
        return asked(found)
    except PythonError as error:
        managed = _managed(text)
        if managed is None:
            raise PythonError(text, str(error).partition(": ")[2]) from None
        return asked(managed)


def _managed(text: str) -> str | None:
    """Return the path of one that uv knows of; it downloads what is not there."""
    uv = shutil.which("uv")
    if uv is None:
        return None
    done = _run([uv, "python", "find", text])
    return done.stdout.strip() if done is not None and not done.returncode else None


def asked(executable: str | Path) -> PythonFacts:
    """Return what a Python says of itself; raises PythonError."""
    done = _run([str(executable), "-I", "-c", _SAYS])
    if done is None or done.returncode:
        said = [] if done is None else done.stderr.strip().splitlines()
        why = f": {said[0]}" if said else ""
        raise PythonError(str(executable), f"it does not run{why}")
    told = json.loads(done.stdout)
    sites = tuple(map(Path, dict.fromkeys(told.pop("sites"))))
    executable = Path(told.pop("executable"))
    facts = PythonFacts(executable=executable, sites=sites, **told)
    if tuple(map(int, facts.version.split(".")[:2])) < LEAST:
        least = ".".join(map(str, LEAST))
        why = f"it is {facts.version}, and a side runs with {least} or later"
        raise PythonError(str(executable), why)
    return facts


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return run(command, seconds=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None


def needed() -> Requirement:
    """Return what the harness' part of a side needs, as our own metadata have it."""
    found = (Requirement(each) for each in requires("refengine") or ())
    return next((each for each in found if each.name == NEEDED), Requirement(NEEDED))


def lacks(packages: Mapping[str, str]) -> str | None:
    """Return what an environment lacks to run a side in it, None if nothing."""
    need, there = needed(), packages.get(NEEDED)
    if there is None:
        return f"it has no {NEEDED}, and a side needs {need}"
    fits: SpecifierSet = need.specifier
    if not fits.contains(there, prereleases=True):
        return f"it has {NEEDED} {there}, and a side needs {need}"
    return None
