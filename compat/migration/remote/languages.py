"""How a subject of each language becomes a driver that has it.

A language is a suffix of files. What it takes to play a subject of it is the command of
a driver, and what that driver is told to load; all else is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compat.drivers.go_subjects import go_files, go_subject
from compat.drivers.installed import go_driver
from compat.drivers.kept import Command
from compat.drivers.subjects import LoadedFrom
from compat.migration.refs import SubjectLocation, SubjectRef

DEFAULT_ENGINE: Final = "eino@0.9.13"
"""What subjects in Go are played on where nobody says another engine."""


@dataclass(frozen=True, slots=True)
class BuiltSubject:
    """A subject that can be played: on which engine, by which driver, of which files.

    ``files`` are the subject's own, by name.
    """

    engine: str
    command: Command
    loaded: LoadedFrom
    files: Mapping[str, bytes]


def _in_go(ref: SubjectRef, place: SubjectLocation) -> BuiltSubject:
    path = place.file or place.folder
    subject = go_subject(ref.text, path, ref.name)
    driver = replace(go_driver(ref.engine or DEFAULT_ENGINE), subject=subject)
    loaded = LoadedFrom(str(path), subject.name)
    return BuiltSubject(
        driver.name, lambda: [str(driver.built())], loaded, subject.files
    )


Built = Callable[[SubjectRef, SubjectLocation], BuiltSubject]
LANGUAGES: Final[Mapping[str, Built]] = MappingProxyType({"go": _in_go})
"""By language: how a subject of it becomes a driver; errors are those of building."""


def built_subject(ref: SubjectRef, place: SubjectLocation) -> BuiltSubject:
    """Return what plays a subject; raises GoSubjectError or EngineNameError."""
    return LANGUAGES[ref.language](ref, place)


def remote_sources(place: SubjectLocation) -> Mapping[str, str]:
    """Return a subject's own sources by name."""
    path = place.file or place.folder
    return {each.name: each.read_text("utf-8", "replace") for each in go_files(path)}


def folder_of(path: Path) -> Path:
    """Return the folder that a file stands in, or the folder itself."""
    return path if path.is_dir() else path.parent
