"""A user's Go package as a part of a driver: found, joined with its source, and built.

A file is a package of its own, since old and new forms of one thing often stand side by
side; a folder is the package that Go takes it for.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat.drivers.building import PROGRAM, SOURCES, program_source
from compat.drivers.saying import SubjectMistakeError
from refengine.errors import error

WORLD: Final = SOURCES / "world"
"""The package that users import as ``refengine/world``."""
LOADER: Final = SOURCES / "own"
"""The package by which a driver loads what is built into it."""
IMPORTED: Final = "refengine/world"
DEFAULT: Final = "Subject"
"""The function that is meant where no name is given."""
PACKAGE: Final = re.compile(r"^package[ \t]+(\w+)", re.MULTILINE)
FUNCTION: Final = re.compile(r"^func[ \t]+([A-Z]\w*)[ \t]*\(", re.MULTILINE)
NOT_CODE: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/|`[^`]*`|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL
)
FOLDER: Final = "subject"
"""Where the package stands in a build."""


@error
class GoSubjectError(SubjectMistakeError):
    """A user's Go package cannot be built into a driver; ``kind`` says why.

    ``path`` is where it stands in a build, if it came so far.
    """

    path: str = ""


@dataclass(frozen=True, slots=True)
class GoSubject:
    """A package, and which of its functions makes the extensions.

    ``text`` is how the user named it, ``files`` are its own, by name.
    """

    text: str
    name: str
    files: Mapping[str, bytes]

    @property
    def path(self) -> str:
        """Where it stands in a build: the same for the same files."""
        digest = hashlib.sha256()
        for name, data in sorted(self.files.items()):
            digest.update(f"\0{name}\0".encode() + data)
        return f"{FOLDER}/p{digest.hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class GoSubjects:
    """Packages that are built into one driver, since that takes as long as one."""

    packages: tuple[GoSubject, ...]

    @property
    def text(self) -> str:
        """How the user named them."""
        return ", ".join(dict.fromkeys(each.text for each in self.packages))

    def joined(self, files: Mapping[str, bytes], package: str) -> Mapping[str, bytes]:
        """Return the files of a driver with those of the packages among them."""
        ours = {
            f"{folder.name}/{path.name}": path.read_bytes()
            for folder in (WORLD, LOADER)
            for path in sorted(folder.iterdir())
        }
        mine = {
            f"{each.path}/{name}": data
            for each in self.packages
            for name, data in each.files.items()
        }
        needs = f"\nrequire {IMPORTED} v0.0.0\n\nreplace {IMPORTED} => ./world\n"
        return {
            **files,
            "go.mod": files["go.mod"] + needs.encode(),
            PROGRAM: self._program(package),
            **ours,
            **mine,
        }

    def _program(self, package: str) -> bytes:
        """Return the source that hands the constructors to the driver."""
        chosen = sorted({(each.path, each.name) for each in self.packages})
        paths = sorted({path for path, _ in chosen})
        entries = [
            f'"{path}:{name}": own{paths.index(path)}.{name}' for path, name in chosen
        ]
        return program_source(package, paths, f"map[string]any{{{', '.join(entries)}}}")

    def refuse(self, log: str) -> None:
        """Raise GoSubjectError if it is a package that a compiler complains of."""
        by_path = {each.path: each for each in self.packages}
        lines = [line.removeprefix("./") for line in log.splitlines()]
        for path, package in by_path.items():
            said = [each.removeprefix(f"{path}/") for each in lines if path in each]
            said = [each for each in said if each[:1] != "#"]
            if said:
                text = "\n  ".join(said[:10])
                kind, why = "compile", f"{package.text} does not compile:\n  {text}"
                raise GoSubjectError(kind, why, path)


def go_subject(text: str, path: Path, name: str) -> GoSubject:
    """Return the package at a path, a file or a folder, and its constructor.

    Without a name it is ``Subject``, or the only exported function that there is.
    Raises GoSubjectError, or OSError.
    """
    files = {each.name: each.read_bytes() for each in go_files(path)}
    codes = [_code(data.decode("utf-8", "replace")) for data in files.values()]
    packages = {found[1] for code in codes if (found := PACKAGE.search(code))}
    if not files or not packages:
        raise GoSubjectError("missing-file", f"{text} has no package of Go")
    if "main" in packages:
        raise GoSubjectError(
            "import",
            f"{text} is a package main, which nobody can import: move what is to be"
            " checked into a package of its own",
        )
    functions = [each for code in codes for each in FUNCTION.findall(code)]
    return GoSubject(text, _named(text, name, functions), files)


def go_files(path: Path) -> Sequence[Path]:
    """Return the files of a package: the one file, or those of a folder, no tests."""
    if path.is_file():
        return (path,)
    found = sorted(path.glob("*.go"))
    return [each for each in found if not each.name.endswith("_test.go")]


def _code(source: str) -> str:
    """Return a source without comments and texts."""
    return NOT_CODE.sub(lambda found: "\n" * found[0].count("\n"), source)


def _named(text: str, name: str, functions: Sequence[str]) -> str:
    if name and name in functions:
        return name
    if not name and DEFAULT in functions:
        return DEFAULT
    if not name and len(functions) == 1:
        return functions[0]
    raise _no_such(text, name, functions)


def _no_such(text: str, name: str, functions: Sequence[str]) -> GoSubjectError:
    shown = ", ".join(functions)
    if not functions:
        why = "it exports no function: write one that returns your extensions"
    elif not name:
        why = f"it exports {shown}: say which, as in {text}:{functions[0]}"
    else:
        close = difflib.get_close_matches(name, functions, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        why = f"{hint}it exports {shown}"
    what = f"no function {name}" if name else f"no function {DEFAULT}"
    return GoSubjectError("missing-name", f"{text} has {what}; {why}")
