"""How subjects of each language become drivers that have them.

A language is a suffix of files. What it takes to play a subject of it is the command of
a driver, and what that driver is told to load; all else is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from compat.drivers.building import GoDriver
from compat.drivers.go_subjects import (
    GoSubject,
    GoSubjectError,
    GoSubjects,
    go_files,
    go_subject,
)
from compat.drivers.installed import go_driver
from compat.drivers.kept import Command
from compat.drivers.subjects import LoadedFrom
from compat.migration.refs import SubjectLocation, SubjectRef, located
from refengine.testing.subject_worlds.go_source import is_adk_go

IN_GO: Final = "eino@0.9.13"
ADK_IN_GO: Final = "adk-go@0.5.0"
"""What subjects in Go are played on where nobody says another engine, by what they
import."""


@dataclass(frozen=True, slots=True)
class ReadSubject:
    """A subject in another language: on which engine, and of which files.

    ``loaded`` is what its driver is told, ``files`` are its own, by name.
    """

    engine: str
    loaded: LoadedFrom
    files: Mapping[str, bytes]
    package: GoSubject


Programs: TypeAlias = "Callable[[ReadSubject], Command]"
"""Returns the command of the driver that has a subject."""


def read_subject(ref: SubjectRef) -> ReadSubject:
    """Read a subject; raises RefError, GoSubjectError or EngineNameError."""
    with located(ref) as place:
        package = go_subject(ref.text, _path(place), ref.name)
    engine = go_driver(ref.engine or _usual(package)).name
    loaded = LoadedFrom(package.path, package.name)
    return ReadSubject(engine, loaded, package.files, package)


def _usual(package: GoSubject) -> str:
    texts = (each.decode("utf-8", "replace") for each in package.files.values())
    return ADK_IN_GO if any(map(is_adk_go, texts)) else IN_GO


def _in_go(subjects: Sequence[ReadSubject]) -> Programs:
    """Return drivers in Go, one for all subjects of an engine.

    If one of them does not compile, each has a driver of its own, and the mistake is
    told of that one.
    """
    engines = dict.fromkeys(each.engine for each in subjects)
    joint = {
        engine: tuple(each.package for each in subjects if each.engine == engine)
        for engine in engines
    }

    def command(subject: ReadSubject) -> Command:
        driver = go_driver(subject.engine)

        def built() -> Sequence[str]:
            try:
                return _built(driver, joint[subject.engine])
            except GoSubjectError:
                return _built(driver, (subject.package,))

        return built

    return command


def _built(driver: GoDriver, packages: tuple[GoSubject, ...]) -> Sequence[str]:
    return [str(replace(driver, subject=GoSubjects(packages)).built())]


LANGUAGES: Final[Mapping[str, Callable[[Sequence[ReadSubject]], Programs]]] = (
    MappingProxyType({"go": _in_go})
)
"""By language: how subjects of it become drivers; commands raise as building does."""


def programs(language: str, subjects: Sequence[ReadSubject]) -> Programs:
    """Return the commands of drivers that have these subjects."""
    return LANGUAGES[language](subjects)


def remote_sources(place: SubjectLocation) -> Mapping[str, str]:
    """Return a subject's own sources by name."""
    files = go_files(_path(place))
    return {each.name: each.read_text("utf-8", "replace") for each in files}


def _path(place: SubjectLocation) -> Path:
    return place.file or place.folder
