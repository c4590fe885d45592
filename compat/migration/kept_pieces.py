"""Verdicts of a folder's pieces, kept until the folder is judged to its end.

    kept = KeptPieces.of(Path("migrations"), how)
    kept.cases(piece)         # what an interrupted check found of it, or None
    kept.keep(piece, cases)
    kept.forget()             # once all is judged

A piece's verdicts are taken up again only if nothing that decides on them is another:
its files, what else is code below the working directory, the options, this release, and
the packages that are installed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Final, Self

from pydantic import ValidationError

from compat.environments.cache import cache_folder
from compat.migration.folder import CASES_AS_JSON, Piece, unit_of
from compat.migration.here import UNREAD
from compat.migration.refs import LANGUAGES
from compat.migration.subject_runner import CheckOptions
from compat.verdicts.migration import JudgedCase

MOVED_BY: Final = "REFENGINE_PIECES"
"""The variable that names another folder for what is kept."""


@dataclass(frozen=True, slots=True)
class KeptPieces:
    """The pieces of one folder, judged in one way; without a place none is kept."""

    place: Path | None
    how: CheckOptions
    surroundings: str

    @classmethod
    def of(cls, folder: Path, how: CheckOptions) -> Self:
        """Return what is kept of a folder."""
        try:
            base = cache_folder(MOVED_BY, "pieces")
        except OSError:  # where a user has no folder that can be written
            return cls(None, how, "")
        place = base / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
        return cls(place, how, _surroundings(Path.cwd(), folder))

    def cases(self, piece: Piece) -> list[JudgedCase] | None:
        """Return the verdicts on a piece, None if there are none that still count."""
        file = self._file(piece)
        if file is None:
            return None
        try:
            return CASES_AS_JSON.validate_json(file.read_bytes(), strict=False)
        except (OSError, ValidationError):
            return None

    def keep(self, piece: Piece, cases: Sequence[JudgedCase]) -> None:
        """Keep the verdicts on a piece, or leave it where nothing can be written."""
        file = self._file(piece)
        if file is None:
            return
        with suppress(OSError):
            file.parent.mkdir(exist_ok=True)
            half = file.with_suffix(f".{os.getpid()}")
            half.write_bytes(CASES_AS_JSON.dump_json([*cases]))
            half.replace(file)

    def forget(self) -> None:
        """Remove all that is kept of the folder."""
        if self.place is not None:
            shutil.rmtree(self.place, ignore_errors=True)

    def _file(self, piece: Piece) -> Path | None:
        if self.place is None:
            return None
        parts = [unit_of(piece, self.how), self.surroundings, *_given(piece)]
        told = json.dumps(parts, sort_keys=True).encode()
        return self.place / f"{hashlib.sha256(told).hexdigest()[:32]}.json"


def _given(piece: Piece) -> Iterator[str]:
    """Yield the hashes of the user's own files, which may stand elsewhere."""
    for name in (*piece.settings.worlds, *piece.settings.tools):
        file = piece.folder / name
        content = file.read_bytes() if file.is_file() else b""
        yield hashlib.sha256(content).hexdigest()


def _surroundings(top: Path, folder: Path) -> str:
    """Return the hash of what decides on every piece, whatever its own files are."""
    found = hashlib.sha256(sys.version.encode())
    packages = (f"{each.name} {each.version}" for each in distributions())
    for line in sorted((*packages, *_code_beside(top, folder.resolve()))):
        found.update(f"{line}\n".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def _code_beside(top: Path, folder: Path) -> Iterator[str]:
    """Yield what tells other code of the user's from what it was, file by file."""
    for root, folders, files in os.walk(top):
        folders[:] = [x for x in folders if x[0] != "." and x not in UNREAD]
        if Path(root, "pyvenv.cfg").exists() or folder in Path(root).parents:
            folders.clear()
            continue
        for name in files:
            if name.endswith(tuple(LANGUAGES)):
                path = Path(root, name)
                with suppress(OSError):
                    facts = path.stat()
                    yield f"{path} {facts.st_size} {facts.st_mtime_ns}"
