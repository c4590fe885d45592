"""Drivers in TypeScript that come with this package: built on first use, and kept.

As those in Go (``compat.drivers.building``), under a name that is the hash of sources,
packages, the version of Node and the platform. Packages are those of ``pinned.json``,
npm's lock file with the sum of each package and without the address of a registry, and
none of them runs a script (``npm ci --ignore-scripts``). The compiler is one of them.

A subject is a file of a user's with what it imports of its own, by relative paths.
Packages are those that its driver is built with, and ``refengine/world``; the driver
loads the file when it is asked to, so it is not built into it. Types are not looked at:
they are not behaviour, and the compiler of whoever wrote them says what it has to say.
"""

from __future__ import annotations

import difflib
import functools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat.drivers.building import (
    DOWNLOADS,
    DriverBuildError,
    MissingToolchainError,
    cache,
    key_of,
    once,
    said_by,
)
from compat.drivers.connection import KeptDriver
from compat.drivers.saying import SubjectMistakeError
from refengine.testing.owned import run

SOURCES: Final = Path(__file__).parent / "typescript"
"""A folder for each driver; ``peer`` and ``world`` are in all of them."""
WORLD: Final[Mapping[str, str]] = {
    "package.json": '{"type": "module", "exports": {"./world": "./world.js"}}\n',
    "world.js": 'export * from "../../built/world/world.js";\n',
}
"""The package ``refengine``, by which a subject has the world of its driver."""
OLDEST: Final = 20
"""The first major version of Node that drivers are built for."""
INSTALL: Final = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")
"""What npm is asked for."""


NEEDS: Final = f"Node.js {OLDEST} or newer with npm", "both"
"""What an engine needs that is a program for Node."""


@dataclass(frozen=True, slots=True)
class NodeDriver:
    """A driver in TypeScript: its engine, its folder, and where its packages are.

    ``packages`` is the folder of ``package.json`` and ``pinned.json``, and of sources
    that are of these packages' versions alone; ``shared`` names folders of sources that
    are of several versions. ``entry`` is the module that is run.
    """

    name: str
    folder: str
    packages: str
    entry: str = "main"
    shared: tuple[str, ...] = ()

    def command(self) -> Sequence[str]:
        """Return what starts it, which is built if it never was.

        Raises MissingToolchainError, or DriverBuildError.
        """
        node, npm = find_node(self.name)
        folder = cache() / f"{self.name}-{self._key(node)}"
        once(folder, lambda: self._build(npm, node, folder))
        return [node, str(folder / "built" / self.folder / f"{self.entry}.js")]

    def files(self) -> Mapping[str, Path]:
        """Return all that it is made of, by where it stands when it is built."""
        found = {
            "package.json": SOURCES / self.packages / "package.json",
            "package-lock.json": SOURCES / self.packages / "pinned.json",
            "tsconfig.json": SOURCES / "tsconfig.json",
        }
        places = {each: each for each in ("peer", "world", self.folder)}
        # Not those of every folder of packages: one dialect has those of another.
        if self.packages.startswith(f"{self.folder}/"):
            places |= dict.fromkeys((*self.shared, self.packages), self.folder)
        for folder, place in places.items():
            for path in sorted((SOURCES / folder).glob("*.ts")):
                found[f"{place}/{path.name}"] = path
        return found

    def unpack(self, work: Path) -> None:
        """Put all that it is made of into a folder."""
        for name, path in self.files().items():
            (work / name).parent.mkdir(exist_ok=True, parents=True)
            shutil.copyfile(path, work / name)

    def _key(self, node: str) -> str:
        said = f"{_version(node, self.name)} {sys.platform}"
        world = {name: text.encode() for name, text in WORLD.items()}
        return key_of(said, {**self.files(), **world})

    def _build(self, npm: str, node: str, folder: Path) -> None:
        """Build it beside where it belongs, and move it there."""
        needed = json.loads(self.files()["package.json"].read_text("utf-8"))
        packages = [f"{n} {v}" for n, v in sorted(needed["dependencies"].items())]
        print(  # noqa: T201  # it takes a while, and somebody waits
            f"building the driver of {self.name} with {node}, once; npm downloads"
            f" {', '.join(packages)}, and what they need",
            file=sys.stderr,
        )
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            work = Path(made) / "driver"
            self.unpack(work)
            self._said([npm, *INSTALL], work)
            self._said([node, *COMPILE], work)
            ours = work / "node_modules" / "refengine"
            ours.mkdir(exist_ok=True)
            for name, text in WORLD.items():
                (ours / name).write_text(text, "utf-8")
            work.replace(folder)

    def _said(self, command: Sequence[str], work: Path) -> None:
        why = f"{DOWNLOADS} npm can reach its registry"
        said_by(command, self.name, why, cwd=work)


TSC: Final = "node_modules/typescript/bin/tsc"
COMPILE: Final = (TSC, "-p", ".", "--rootDir", ".", "--outDir", "built", "--noCheck")
"""How the sources become JavaScript; their types are looked at by a test."""


OWN_PACKAGES: Final = "loop"
"""Where the packages are of drivers that need nothing but the compiler."""


def own_driver(folder: str, entry: str) -> KeptDriver:
    """Return the driver of a dialect that was written here; started when it is asked.

    Raises MissingToolchainError, or DriverBuildError.
    """
    driver = NodeDriver(f"typescript-{folder}", folder, OWN_PACKAGES, entry)
    return KeptDriver(driver.command)


def find_node(engine: str) -> tuple[str, str]:
    """Return the paths of node and npm; raises MissingToolchainError."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise MissingToolchainError(engine, *NEEDS)
    version = _version(node, engine)
    major = re.match(r"v(\d+)\.", version)
    if major is None or int(major[1]) < OLDEST:
        raise MissingToolchainError(engine, *NEEDS, f"Node.js {version}")
    return node, npm


@functools.cache
def _version(node: str, engine: str) -> str:
    """Return the version of a Node, with its architecture: started once for it."""
    asked = [node, "-p", "process.version + ' ' + process.arch"]
    return said_by(asked, engine).strip()


OWN: Final = "own"
"""The folder of a user's files while they are compiled, so that none is called as what
stands beside them: ``package.json`` is one that people import."""
OPTIONS: Final[Mapping[str, object]] = {
    "target": "es2023",
    "lib": ["es5"],
    "types": [],
    "module": "nodenext",
    "outDir": "built",
    "rootDir": OWN,
    "rewriteRelativeImportExtensions": True,
    "noCheck": True,
    "noResolve": True,
}
"""How a user's files become JavaScript: each for itself, syntax alone is looked at."""
NOT_CODE: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
IMPORT: Final = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.{1,2}/[^"']+)["']""")
SAID: Final = re.compile(r"^(.+?)\((\d+),(\d+)\): error TS\d+: (.*)$", re.MULTILINE)
WRITTEN_AS: Final = {".js": ".ts", ".mjs": ".mts"}
"""What an import may say of a file of TypeScript, as its compiler has it."""


@dataclass(frozen=True, slots=True)
class ScriptSubject:
    """A file in TypeScript, and what it exports that makes the extensions.

    ``text`` is how the user named it; ``files`` are its own and those that it imports,
    by where they stand to each other, ``entry`` is the first of them. Without a
    ``name`` the driver looks for the one that is meant.
    """

    text: str
    entry: str
    name: str
    files: Mapping[str, bytes]

    @property
    def path(self) -> str:
        """What a driver is asked to load."""
        return str(Path(self.entry).with_suffix(".js"))


def script_subject(text: str, path: Path, name: str) -> ScriptSubject:
    """Return the subject that a file is; raises SubjectMistakeError, or OSError."""
    found = script_files(path, text)
    top = Path(os.path.commonpath([each.parent for each in found]))
    files = {each.relative_to(top).as_posix(): data for each, data in found.items()}
    return ScriptSubject(text, path.resolve().relative_to(top).as_posix(), name, files)


def script_files(path: Path, text: str = "") -> Mapping[Path, bytes]:
    """Return a file and those that it imports by relative paths, that one first.

    Raises SubjectMistakeError for one that is not there.
    """
    waiting = [path.resolve()]
    found: dict[Path, bytes] = {}
    while waiting:
        here = waiting.pop(0)
        if here not in found:
            found[here] = here.read_bytes()
            waiting += _imported(here, found[here], text or str(path))
    return found


def _imported(here: Path, data: bytes, text: str) -> Iterator[Path]:
    code = NOT_CODE.sub("", data.decode("utf-8", "replace"))
    for said in IMPORT.findall(code):
        named = Path(os.path.normpath(here.parent / said))
        written = named.with_suffix(WRITTEN_AS.get(named.suffix, named.suffix))
        there = next((each for each in (named, written) if each.is_file()), None)
        if there is None:
            raise _no_such(text, here, said)
        yield there


def _no_such(text: str, here: Path, said: str) -> SubjectMistakeError:
    names = [f"./{each.name}" for each in here.parent.glob("*.ts") if each != here]
    close = difflib.get_close_matches(said, names, 1, 0.5)
    hint = f"did you mean {close[0]!r}?" if close else "give the path of a file"
    why = f"{text}: {here.name} imports {said!r}, which is not a file; {hint}"
    return SubjectMistakeError("import", why)


def subject_command(driver: NodeDriver, subject: ScriptSubject) -> Sequence[str]:
    """Return the command of a driver that can load a subject, made if it never was.

    Node runs first what runs a setup, where the environment names one.
    Raises SubjectMistakeError for one that is not TypeScript, MissingToolchainError
    without Node, or DriverBuildError.
    """
    node, program = driver.command()
    home = Path(program).parents[2]
    folder = cache() / "subjects" / f"{driver.name}-{_key(home, subject)}"
    folder.parent.mkdir(exist_ok=True)
    once(folder, lambda: _compile(node, home, folder, subject))
    first = (home / "built" / "peer" / "setup.js").as_uri()
    return [node, "--import", first, program, str(folder / "built")]


def _key(home: Path, subject: ScriptSubject) -> str:
    files = dict(sorted(subject.files.items()))
    return key_of(f"{home.name} {json.dumps(OPTIONS)}", files)


def _compile(node: str, home: Path, folder: Path, subject: ScriptSubject) -> None:
    """Make it beside where it belongs, with the packages of its driver in reach."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        work = Path(made) / "subject"
        scripts = {n: d for n, d in subject.files.items() if Path(n).suffix != ".json"}
        _written(work / OWN, subject.files)
        files = [f"{OWN}/{name}" for name in scripts]
        settings = {"compilerOptions": OPTIONS, "files": files}
        (work / "tsconfig.json").write_text(json.dumps(settings), "utf-8")
        (work / "package.json").write_text(json.dumps({"type": "module"}), "utf-8")
        (work / "node_modules").symlink_to(home / "node_modules")
        command = [node, str(home / TSC), "-p", "..", "--pretty", "false"]
        done = run(command, cwd=work / OWN)
        if done.returncode:
            raise _refused(subject, done.stdout + done.stderr)
        data = {n: d for n, d in subject.files.items() if n not in scripts}
        _written(work / "built", data)
        work.replace(folder)


def _written(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _refused(subject: ScriptSubject, log: str) -> Exception:
    said = [f"{file}:{line}: {why}" for file, line, _, why in SAID.findall(log)]
    if not said:
        return DriverBuildError(subject.text, log, "see that it compiles by itself")
    text = "\n  ".join(said[:10])
    return SubjectMistakeError("compile", f"{subject.text} does not parse:\n  {text}")
