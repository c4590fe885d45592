"""A user's own extensions in TypeScript: found, made JavaScript, and given to a driver.

A subject is a file with what it imports of its own, by relative paths. Packages are
those that its driver is built with, and ``refengine/world``; the driver loads the file
when it is asked to, so it is not built into it. Types are not looked at: they are not
behaviour, and the compiler of whoever wrote them says what it has to say.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat.drivers.building import DriverBuildError, cache, locked
from compat.drivers.node_building import TSC, NodeDriver
from compat.drivers.subjects import SubjectMistakeError

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

    Raises SubjectMistakeError for one that is not TypeScript, MissingNodeError without
    Node, or DriverBuildError.
    """
    node, program = driver.command()
    home = Path(program).parents[2]
    folder = cache() / "subjects" / f"{driver.name}-{_key(home, subject)}"
    if not folder.is_dir():
        folder.parent.mkdir(exist_ok=True)
        with locked(folder):
            if not folder.is_dir():
                _compile(node, home, folder, subject)
    return [node, program, str(folder / "built")]


def _key(home: Path, subject: ScriptSubject) -> str:
    digest = hashlib.sha256(f"{home.name} {json.dumps(OPTIONS)}".encode())
    for name, data in sorted(subject.files.items()):
        digest.update(f"\0{name}\0".encode() + data)
    return digest.hexdigest()[:16]


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
        done = subprocess.run(  # noqa: S603  # the Node that was found, no shell
            command, cwd=work / OWN, capture_output=True, text=True, check=False
        )
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
