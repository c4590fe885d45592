"""The file that verdicts are kept in: SQLite, one judgement of each version."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from compat.verdicts.timeline import (
    TimelineError,
    TimelineItem,
    VersionHistory,
    VersionJudged,
    in_order,
)

VERSION: Final = 1
APPLICATION: Final = 0x7E66_714C
"""Which program's a file of SQLite is: its header says so."""
_SCHEMA: Final = f"""
CREATE TABLE judgement (
    id INTEGER PRIMARY KEY,
    subject TEXT NOT NULL,
    version TEXT NOT NULL,
    digest TEXT NOT NULL,
    tool TEXT NOT NULL,
    UNIQUE (subject, version)
);
CREATE TABLE verdict (
    judgement INTEGER NOT NULL REFERENCES judgement,
    item TEXT NOT NULL,
    verdict TEXT NOT NULL,
    good INTEGER,
    PRIMARY KEY (judgement, item)
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""
_WAITS: Final = 30.0
"""Seconds that one who writes waits for another."""


def _unknown(kind: str, name: str, there: Iterable[str]) -> TimelineError:
    listed = ", ".join(there) or "none"
    named = f"no {kind} {name!r}" if name else f"name a {kind}"
    return TimelineError(f"{named}; there are {listed}")


class Timeline:
    """A file of verdicts, made when something is first added to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, judged: VersionJudged) -> bool:
        """Keep what was said of a version, and tell whether it was not there so.

        What was said of it before is replaced, in its place among the versions.
        """
        with self._opened(write=True) as base:
            key = judged.subject, judged.version
            row = base.execute(
                "SELECT id, digest FROM judgement WHERE subject = ? AND version = ?",
                key,
            ).fetchone()
            if row is not None and row[1] == judged.digest:
                return False
            number = _number(base, judged, row)
            base.executemany(
                "INSERT INTO verdict VALUES (?, ?, ?, ?)",
                [(number, e.name, e.verdict, e.good) for e in judged.items.values()],
            )
        return True

    def history(self, subject: str = "") -> VersionHistory:
        """Return the versions of a subject, which may be left out where there is one.

        Raises TimelineError.
        """
        with self._opened() as base:
            names = [name for (name,) in base.execute(_SUBJECTS)]
            if subject not in names:
                if subject or len(names) != 1:
                    raise _unknown("subject", subject, names)
                [subject] = names
            found = {each.version: each for each in _judged(base, subject)}
        return VersionHistory(
            subject, tuple(found[each] for each in in_order([*found]))
        )

    def version(self, version: str, subject: str = "") -> VersionJudged:
        """Return what was said of one version; raises TimelineError."""
        history = self.history(subject)
        for each in history.versions:
            if each.version == version:
                return each
        there = [each.version for each in history.versions]
        raise _unknown(f"version of {history.subject}", version, there)

    def found(self, version: str, subject: str) -> VersionJudged | None:
        """Return what was said of a version, None if it is not there."""
        if not self.path.exists():
            return None
        with self._opened() as base:
            there = {each.version: each for each in _judged(base, subject)}
        return there.get(version)

    def subjects(self) -> list[str]:
        """Return the names of what there are verdicts of."""
        with self._opened() as base:
            return [name for (name,) in base.execute(_SUBJECTS)]

    @contextmanager
    def _opened(self, *, write: bool = False) -> Generator[sqlite3.Connection]:
        """Open the file in one transaction; raises TimelineError."""
        if not write and not self.path.exists():
            raise TimelineError(f"{self.path}: there is no such file")
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAITS)) as base:
                base.isolation_level = None
                base.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                self._checked(base, write=write)
                yield base
                base.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            why = f"{self.path}: is not a timeline ({error})"
            raise TimelineError(why) from error

    def _checked(self, base: sqlite3.Connection, *, write: bool) -> None:
        [program] = base.execute("PRAGMA application_id").fetchone()
        [version] = base.execute("PRAGMA user_version").fetchone()
        tables = base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if write and not tables and not program:
            for statement in _SCHEMA.split(";"):
                base.execute(statement)
        elif program != APPLICATION:
            raise TimelineError(f"{self.path}: is of another program")
        elif version != VERSION:
            problem = f"has version {version}, and {VERSION} is read here"
            raise TimelineError(f"{self.path}: {problem}")


_SUBJECTS: Final = "SELECT DISTINCT subject FROM judgement ORDER BY subject"


def _number(
    base: sqlite3.Connection, judged: VersionJudged, row: tuple[int, str] | None
) -> int:
    """Return the number of a version's row, which holds nothing yet."""
    if row is None:
        values = judged.subject, judged.version, judged.digest, judged.tool
        done = base.execute(
            "INSERT INTO judgement (subject, version, digest, tool)"
            " VALUES (?, ?, ?, ?)",
            values,
        )
        return int(done.lastrowid or 0)
    base.execute("DELETE FROM verdict WHERE judgement = ?", row[:1])
    base.execute(
        "UPDATE judgement SET digest = ?, tool = ? WHERE id = ?",
        (judged.digest, judged.tool, row[0]),
    )
    return row[0]


def _judged(base: sqlite3.Connection, subject: str) -> Iterator[VersionJudged]:
    rows = base.execute(
        "SELECT id, version, digest, tool FROM judgement WHERE subject = ? ORDER BY id",
        (subject,),
    ).fetchall()
    for number, version, digest, tool in rows:
        items = base.execute(
            "SELECT item, verdict, good FROM verdict WHERE judgement = ? ORDER BY item",
            (number,),
        )
        found = {
            name: TimelineItem(name, said, None if good is None else bool(good))
            for name, said, good in items
        }
        yield VersionJudged(subject, version, found, digest, tool)
