"""What a folder has of older forms, as a scan of it found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class KnownChange:
    """What is known to behave otherwise in the newer form, where code has one of these.

    It concerns all code of a form that has no ``when``, and none that has ``unless``.
    """

    says: str
    guide: str
    when: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LegacyForm:
    """An older form, what takes its place, and how its code is told."""

    id: str
    says: str
    newer: str
    guide: str
    modules: frozenset[str]
    names: frozenset[str]
    changes: tuple[KnownChange, ...]


@dataclass(frozen=True, slots=True)
class LegacyUse:
    """A file of a form: the first line that shows it, and what a port changes there.

    Each change comes with the line that it is about, None if with the whole file.
    """

    path: Path
    line: int
    form: LegacyForm
    changes: tuple[tuple[KnownChange, int | None], ...]


@dataclass(frozen=True, slots=True)
class LegacyScan:
    """What a folder has of older forms; the file with most known changes comes first.

    ``read_files`` counts the sources, and ``unread`` are those that nobody can parse.
    """

    read_files: int
    unread: tuple[Path, ...]
    uses: tuple[LegacyUse, ...]
