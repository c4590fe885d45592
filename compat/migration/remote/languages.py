"""How subjects of each language become drivers that have them.

A language is a suffix of files. What it takes to play a subject of it is the command of
a driver, and what that driver is told to load; all else is the same for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from compat.drivers.building import GoDriver
from compat.drivers.connection import Command
from compat.drivers.go_subjects import (
    GoSubject,
    GoSubjectError,
    GoSubjects,
    go_files,
    go_subject,
)
from compat.drivers.installed import go_driver, node_driver
from compat.drivers.node_building import (
    ScriptSubject,
    script_files,
    script_subject,
    subject_command,
)
from compat.drivers.saying import SubjectMistakeError
from compat.drivers.subjects import LoadedFrom
from compat.migration.refs import (
    GO,
    TYPESCRIPT,
    SubjectLocation,
    SubjectRef,
    located,
)
from refengine.testing.subject_worlds.code_tokens import is_adk_go

IN_GO: Final = "eino@0.9.13"
ADK_IN_GO: Final = "adk-go@0.5.0"
"""What subjects in Go are played on where nobody says another engine, by what they
import."""
OF_PACKAGES: Final[Mapping[str, str]] = MappingProxyType(
    {"ai": "ai-sdk@5", "langchain": "langchain-js@1"}
)
"""The same in TypeScript, by a package that they import; the first if none of them."""
IMPORTED: Final = re.compile(r"""\bfrom\s*["'](@?[\w-]+)""")


@dataclass(frozen=True, slots=True)
class ReadSubject:
    """A subject in another language: on which engine, and of which files.

    ``loaded`` is what its driver is told, ``files`` are its own, by name.
    """

    engine: str
    loaded: LoadedFrom
    files: Mapping[str, bytes]
    package: GoSubject | ScriptSubject


Programs: TypeAlias = "Callable[[ReadSubject], Sequence[Command]]"
"""Returns commands of drivers that have a subject: where one ends when it is started,
the next one is."""


def read_subject(ref: SubjectRef) -> ReadSubject:
    """Read a subject; raises RefError, SubjectMistakeError or an EngineNameError."""
    with located(ref) as place:
        return READING[ref.language](ref, _path(place))


def _of_go(ref: SubjectRef, path: Path) -> ReadSubject:
    package = go_subject(ref.text, path, ref.name)
    engine = go_driver(ref.engine or _usual(package)).name
    loaded = LoadedFrom(package.path, package.name)
    return ReadSubject(engine, loaded, package.files, package)


def _usual(package: GoSubject) -> str:
    texts = (each.decode("utf-8", "replace") for each in package.files.values())
    return ADK_IN_GO if any(map(is_adk_go, texts)) else IN_GO


def _of_typescript(ref: SubjectRef, path: Path) -> ReadSubject:
    script = script_subject(ref.text, path, ref.name)
    engine = node_driver(ref.engine or _engine_of(script)).name
    loaded = LoadedFrom(script.path, script.name)
    return ReadSubject(engine, loaded, script.files, script)


def _engine_of(script: ScriptSubject) -> str:
    """Return what a subject is played on where nobody says another engine."""
    texts = (each.decode("utf-8", "replace") for each in script.files.values())
    packages = {each.split("/")[0] for text in texts for each in IMPORTED.findall(text)}
    named = (engine for name, engine in OF_PACKAGES.items() if name in packages)
    return next(named, next(iter(OF_PACKAGES.values())))


READING: Final[Mapping[str, Callable[[SubjectRef, Path], ReadSubject]]] = (
    MappingProxyType({GO: _of_go, TYPESCRIPT: _of_typescript})
)
"""By language: how a subject of it is read."""


def _in_go(subjects: Sequence[ReadSubject]) -> Programs:
    """Return drivers in Go, one for all subjects of an engine that compile.

    Where that one does not start, each subject has a driver of its own: of two packages
    that register a type by the same name when they are loaded, the second panics.
    """
    # Not one for all pieces of a folder: what Go keeps built makes one more cheap, and
    # a package that panics, or registers a name twice, would end them all.
    engines = dict.fromkeys(each.engine for each in subjects)
    joint = {
        engine: _Joint(
            go_driver(engine),
            tuple(_package(each) for each in subjects if each.engine == engine),
        )
        for engine in engines
    }

    def commands(subject: ReadSubject) -> Sequence[Command]:
        found, package = joint[subject.engine], _package(subject)
        return (lambda: found.built(package), lambda: found.alone(package))

    return commands


def _package(subject: ReadSubject) -> GoSubject:
    if not isinstance(subject.package, GoSubject):
        raise TypeError(subject)
    return subject.package


class _Joint:
    """Packages that are built into one driver; those that do not compile are left."""

    def __init__(self, driver: GoDriver, packages: tuple[GoSubject, ...]) -> None:
        self._driver = driver
        self._packages = packages
        self._refused: dict[str, GoSubjectError] = {}

    def built(self, package: GoSubject) -> Sequence[str]:
        """Return the command of the driver; raises what is wrong with the package."""
        while package.path not in self._refused:
            rest = (e for e in self._packages if e.path not in self._refused)
            try:
                return _built(self._driver, tuple(rest))
            except GoSubjectError as error:
                self._refused[error.path] = error
        raise self._refused[package.path]

    def alone(self, package: GoSubject) -> Sequence[str]:
        """Return the command of a driver with no other package; raises as ``built``."""
        return _built(self._driver, (package,))


def _in_node(_: Sequence[ReadSubject]) -> Programs:
    """Return drivers for Node, one of each engine, which load the one or the other."""

    def commands(subject: ReadSubject) -> Sequence[Command]:
        script = subject.package
        if not isinstance(script, ScriptSubject):
            raise TypeError(subject)
        return (lambda: subject_command(node_driver(subject.engine), script),)

    return commands


def _built(driver: GoDriver, packages: tuple[GoSubject, ...]) -> Sequence[str]:
    return [str(replace(driver, subject=GoSubjects(packages)).built())]


LANGUAGES: Final[Mapping[str, Callable[[Sequence[ReadSubject]], Programs]]] = (
    MappingProxyType({GO: _in_go, TYPESCRIPT: _in_node})
)
"""By language: how subjects of it become drivers; commands raise as building does."""


def programs(language: str, subjects: Sequence[ReadSubject]) -> Programs:
    """Return the commands of drivers that have these subjects."""
    return LANGUAGES[language](subjects)


def remote_sources(place: SubjectLocation) -> Mapping[str, str]:
    """Return a subject's own sources by name; none of one that is a mistake."""
    path = _path(place)
    if path.suffix != ".ts":
        files = go_files(path)
        return {each.name: each.read_text("utf-8", "replace") for each in files}
    try:
        scripts = script_files(path)
    except SubjectMistakeError:
        return {}
    return {
        each.name: data.decode("utf-8", "replace") for each, data in scripts.items()
    }


def _path(place: SubjectLocation) -> Path:
    return place.file or place.folder
