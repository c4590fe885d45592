"""Making an environment: by uv where it is installed, else by venv and pip."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from compat.environments.naming import PackageChoice
from compat.environments.pythons import (
    NEEDED,
    PythonFacts,
    asked,
    lacks,
    needed,
)
from refengine.testing.owned import run

LAST: Final = 8
"""So many of the last lines are told of an install that failed."""
WIDE: Final = 240
"""So much of each: pip lists all versions that there ever were in one."""
SCRIPTS: Final = "bin"
_UNSET: Final = frozenset(
    ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
)
"""Variables by which an install would look into another environment."""


class EnvironmentMakingError(ValueError):
    """An environment that could not be made, with the last lines of what tried to."""

    def __init__(self, shown: str, by: str, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        told = "".join(f"\n  {each}" for each in self.lines)
        super().__init__(
            f"no environment could be made with {shown}; nothing of it is kept."
            f" {by} said last:{told}"
        )


def python_in(folder: Path) -> Path:
    """Return the Python of a virtual environment."""
    return folder / SCRIPTS / "python"


def make(folder: Path, final: Path, python: PythonFacts, choice: PackageChoice) -> None:
    """Make an environment in a folder that will be called ``final``.

    Raises EnvironmentMakingError.
    """
    uv = shutil.which("uv")
    by = "pip" if uv is None else "uv"
    tell(choice.shown, by, sys.stderr)
    commands = _by_pip(folder, python) if uv is None else _by_uv(uv, folder, python)
    begin, install = commands
    _run(begin, choice.shown, by)
    wanted = [*choice.requirements]
    wanted += [part for file in choice.files for part in ("-r", str(file))]
    if wanted:
        _run([*install, *wanted], choice.shown, by)
    # Not with the others: beside a file with hashes pip takes nothing without one.
    if NEEDED not in asked(python_in(folder)).packages:
        _run([*install, str(needed())], choice.shown, by)
    missing = lacks(asked(python_in(folder)).packages)
    if missing is not None:
        raise EnvironmentMakingError(choice.shown, "The harness", [missing])
    _rename_inside(folder, final)


def tell(shown: str, by: str, to: TextIO) -> None:
    """Say on a terminal what takes so long, before anything else is shown."""
    if to.isatty():
        to.write(f"making an environment with {shown}, by {by}; it is kept\n")
        to.flush()


def _by_uv(
    uv: str, folder: Path, python: PythonFacts
) -> tuple[Sequence[str], Sequence[str]]:
    made = [uv, "venv", "--quiet", "--no-project", "--python", str(python.executable)]
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python"]
    return [*made, str(folder)], [*install, str(python_in(folder))]


def _by_pip(folder: Path, python: PythonFacts) -> tuple[Sequence[str], Sequence[str]]:
    made = [str(python.executable), "-I", "-m", "venv", str(folder)]
    install = [str(python_in(folder)), "-I", "-m", "pip", "install", "--quiet"]
    return made, [*install, "--no-input", "--disable-pip-version-check", "--compile"]


def _run(command: Sequence[str], shown: str, by: str) -> None:
    done = run(command, env=_environment())
    if done.returncode:
        raise EnvironmentMakingError(shown, by, _last(done.stderr or done.stdout))


def _environment() -> Mapping[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in _UNSET}
    # Whoever forbids bytecode forbids it to himself: a side compiles nothing.
    return {name: v for name, v in own.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _last(said: str) -> Sequence[str]:
    lines = [each.rstrip() for each in said.splitlines() if each.strip()]
    return [_cut(each) for each in lines[-LAST:]] or ["(nothing)"]


def _cut(line: str) -> str:
    half = WIDE // 2
    return line if len(line) <= WIDE else f"{line[:half]} … {line[-half:]}"


def _rename_inside(folder: Path, final: Path) -> None:
    """Have scripts name the folder that it will be: they begin with its Python."""
    old, new = os.fsencode(folder), os.fsencode(final)
    for each in (folder / SCRIPTS).iterdir():
        if each.is_file() and not each.is_symlink():
            text = each.read_bytes()
            if old in text:
                each.write_bytes(text.replace(old, new))
