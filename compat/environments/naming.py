"""What an environment is made of, as it is given: requirements, files, a Python.

    packages_of(["langchain==1.4.*"], Path.cwd())
    packages_of(["requirements.txt", "python3.12"], Path.cwd())
    packages_of([".venv"], Path.cwd())      # one that exists, taken as it is

Each text is one requirement in pip's syntax, a wheel or the folder of a project, a file
of requirements, the folder of a virtual environment, or a Python. What has no slash is
a package, as for pip, though a folder is called so, too.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement

FORMS: Final = (
    "a requirement such as 'langchain==1.5.*', a file of requirements, the folder of a"
    " virtual environment, or a Python such as python3.12"
)
PYTHON: Final = re.compile(r"(python|pypy)\d*(\.\d+)*", re.IGNORECASE)
PROJECT: Final = ("pyproject.toml", "setup.py")
MARK: Final = "pyvenv.cfg"
"""The file that makes a folder a virtual environment."""
NESTED: Final = re.compile(
    r"^\s*(?:-r|-c|--requirement|--constraint)[\s=]+(\S+)", re.MULTILINE
)
LOCAL: Final = re.compile(
    r"^\s*(?:(?:-e|--editable)[\s=]+)?(?:[\w.-]+\s*@\s*)?(?:file:(?://)?)?([^\s;#\[=<>~!]+)",
    re.MULTILINE,
)
"""What may be a path on a line of a file of requirements; a package has no files."""
ENDS: Final = frozenset((".lock", ".toml", ".txt", ".whl"))
"""What names of files end in that are given; some are names of packages, too."""
UNREAD: Final = frozenset(
    (".git", ".venv", "__pycache__", "build", "dist", "node_modules", "venv")
)
"""Folders of a project of which nothing is installed."""


class EnvironmentChoiceError(ValueError):
    """A text, or several together, that say no environment."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text!r}: {why}")


@dataclass(frozen=True, slots=True)
class PackageChoice:
    """What was asked for: what is installed, with which Python, or what exists.

    ``content`` says of each part that is a file what stands in it.
    """

    shown: str
    requirements: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    python: str | None = None
    existing: Path | None = None
    content: tuple[str, ...] = ()


def packages_of(texts: Sequence[str], cwd: Path) -> PackageChoice:
    """Return what these texts ask for; raises EnvironmentChoiceError or OSError."""
    requirements: list[str] = []
    files: list[Path] = []
    pythons: list[str] = []
    existing: list[Path] = []
    content: list[str] = []
    for text in texts:
        path = cwd / os.path.expanduser(text)  # noqa: PTH111  # leaves an unknown user be
        is_path = os.sep in text or text in {".", ".."}
        if path.is_dir() and (is_path or (path / MARK).is_file()):
            _folder(text, path, requirements, existing, content)
        elif _is_python(text, path):
            pythons.append(str(path) if path.is_file() else text)
        elif path.is_file() and path.suffix == ".whl":
            requirements.append(str(path))
            content.append(f"{path.name} {_digest([path])}")
        elif path.is_file() and (is_path or path.suffix):
            _check_lock(text, path)
            files.append(path)
            for each in _with_nested(path):
                content += [_digest([each]), *_named_in(each, cwd)]
        else:
            requirements.append(_requirement(text, cwd))
            content.append(requirements[-1])
    if len(pythons) > 1:
        raise EnvironmentChoiceError(pythons[1], "is a second Python; give one")
    if existing and len(texts) > 1:
        why = "exists, and is taken as it is: give nothing beside it"
        raise EnvironmentChoiceError(str(existing[0]), why)
    return PackageChoice(
        ", ".join(texts),
        tuple(sorted(requirements)),
        tuple(files),
        pythons[0] if pythons else None,
        existing[0] if existing else None,
        tuple(sorted(content)),
    )


def _folder(
    text: str,
    path: Path,
    requirements: list[str],
    existing: list[Path],
    content: list[str],
) -> None:
    if (path / MARK).is_file():
        existing.append(path)
    elif any((path / each).is_file() for each in PROJECT):
        requirements.append(str(path))
        content.append(f"{path.name} {_digest(_sources(path), path)}")
    else:
        why = f"is a folder without {MARK} or {' or '.join(PROJECT)}; give {FORMS}"
        raise EnvironmentChoiceError(text, why)


def _is_python(text: str, path: Path) -> bool:
    if path.is_file():
        return os.access(path, os.X_OK) and bool(PYTHON.match(path.name))
    return bool(PYTHON.fullmatch(text))


def _requirement(text: str, cwd: Path) -> str:
    """Return a requirement as packaging writes it, so that spaces make no other."""
    if text.startswith("-"):
        why = "is an option of pip's; put it into a file of requirements and give that"
        raise EnvironmentChoiceError(text, why)
    name = text.partition("@")[0]  # behind which an address may stand
    if os.sep in name or Path(name).suffix in ENDS:
        raise EnvironmentChoiceError(text, f"there is no such file in {cwd}")
    try:
        return str(Requirement(text))
    except InvalidRequirement as error:
        what = str(error).splitlines()[0]
        raise EnvironmentChoiceError(text, f"{what}; give {FORMS}") from None


def _check_lock(text: str, path: Path) -> None:
    if path.name in {"uv.lock", "poetry.lock", "Pipfile.lock"}:
        why = (
            "neither pip nor uv installs from it; export it (uv export --no-hashes"
            " -o requirements.txt) and give that file"
        )
        raise EnvironmentChoiceError(text, why)


def _with_nested(path: Path) -> Iterator[Path]:
    """Yield a file of requirements and those it names, each once."""
    waiting, seen = [path], set[Path]()
    while waiting:
        file = waiting.pop().resolve()
        if file in seen or not file.is_file():
            continue  # one that is not there is what pip complains of
        seen.add(file)
        yield file
        named = NESTED.findall(file.read_text("utf-8", errors="replace"))
        waiting += (file.parent / each for each in named)


def _named_in(file: Path, cwd: Path) -> Iterator[str]:
    """Yield the hash of what a file of requirements names on this machine.

    uv looks for it beside the file, and pip where it runs.
    """
    for named in LOCAL.findall(file.read_text("utf-8", errors="replace")):
        for path in dict.fromkeys((file.parent / named, cwd / named)):
            if any((path / each).is_file() for each in PROJECT):
                yield _digest(_sources(path), path)
            elif path.is_file() and path != file:
                yield _digest([path])


def _sources(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(
            each
            for each in folders
            if each not in UNREAD and not each.endswith(".egg-info")
        )
        yield from (Path(root, each) for each in sorted(files))


def _digest(files: Iterable[Path], folder: Path | None = None) -> str:
    """Return the hash of what files hold, and of their names as seen from a folder."""
    found = hashlib.sha256()
    for each in files:
        name = each.name if folder is None else each.relative_to(folder).as_posix()
        found.update(name.encode() + b"\0" + each.read_bytes() + b"\0")
    return found.hexdigest()
