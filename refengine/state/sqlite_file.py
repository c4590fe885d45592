"""The file of a SQLite store: opened to write or only to read, looked at, and made.

What stands at the path is looked at, and perhaps refused, before anything in it is
touched. What SQLite says went wrong comes out by the names that our users read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

from refengine.state.store_errors import (
    ForeignStoreError,
    NewerStoreError,
    StoreDamagedError,
    StoreError,
    StoreFileError,
    StoreFullError,
    StoreMissingError,
    StoreReadOnlyError,
)

_BUSY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_SHUT: Final = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether others are at it, so that the same may succeed a moment later."""
    return code_of(error) in _BUSY


def named(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the error of ours for one of SQLite's; what it does not know is damage."""
    code = code_of(error)
    if code == sqlite3.SQLITE_FULL:
        return StoreFullError(path)
    if code in _SHUT:
        return StoreReadOnlyError(path, str(error))
    if code == sqlite3.SQLITE_NOTADB:
        return ForeignStoreError(path, "no SQLite file")
    return StoreDamagedError(path, str(error))


def code_of(error: sqlite3.Error) -> int | None:
    """Return SQLite's primary result code; some errors are Python's and have none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


Synchronous: TypeAlias = Literal["full", "normal"]
"""When a write is safe: in a power cut too, or in a crash of the process only."""
Stamp: TypeAlias = tuple[tuple[int, int, int] | None, ...]
"""Which file stands there, how long and how old: it, its log, and what is shared."""
APPLICATION: Final = 0x72666E67
"""``rfng``: stands in the header of the file, and says whose it is."""
LAYOUT: Final = 1
"""Stands beside it: the tables as they are below."""

_LEAST: Final = 512
"""Bytes of the smallest database. SQLite takes less for nothing, and writes over it.

The file is not opened to look: when it is closed again, a POSIX system would take from
this process the locks of every other connection to it.
"""
_TABLE: Final = """
CREATE TABLE records (
    key TEXT NOT NULL, seq INTEGER NOT NULL, record BLOB NOT NULL,
    PRIMARY KEY (key, seq)
)
"""


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A connection to the file of a store, and what it is to be given up for.

    ``stamp`` is what stood there when it was opened as a file that nobody writes; None
    if SQLite itself sees what others write.
    """

    db: sqlite3.Connection
    stamp: Stamp | None = None
    copy: TemporaryDirectory[str] | None = None

    def is_stale(self, path: Path) -> bool:
        """Tell whether somebody has written since, which SQLite was told not to see."""
        return self.stamp is not None and _stamp_of(path) != self.stamp

    def close(self) -> None:
        """Close the connection, and take away the copy that it is to."""
        self.db.close()
        if self.copy is not None:
            self.copy.cleanup()


def opened(path: Path, synchronous: Synchronous) -> SqliteFile:
    """Return a connection to the store at that path, made if it is not there.

    Raises StoreError by its cause, and sqlite3.Error where SQLite knows better.
    """
    _check_path(path, read_only=False)
    db, empty = _looked_at(path, "mode=rwc")
    try:
        if empty:
            _make(db, path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {synchronous}")
        # On macOS plain fsync leaves the data in the disk's own memory.
        db.execute(f"PRAGMA fullfsync = {synchronous == 'full':d}")
    except BaseException:
        db.close()
        raise
    return SqliteFile(db)


def opened_to_read(path: Path) -> SqliteFile:
    """Return a connection to a store that is there, which changes nothing beside it.

    Even to read, SQLite wants the log (``-wal``) and what its users share (``-shm``),
    makes them if they are not there, and leaves them. So

    - where both are, somebody is at work or was killed: what is shared is only read;
    - where the log is alone, as in a copy, a copy of ours is read;
    - where there is none, the file is read as one that nobody writes.

    In the last two cases SQLite sees nothing of who begins to write: ask ``is_stale``.
    Raises what ``opened`` does.
    """
    _check_path(path, read_only=True)
    log, shared = _beside(path, "-wal"), _beside(path, "-shm")
    stamp = _stamp_of(path)
    if log.exists() and shared.exists():
        return _to_read(path, "mode=ro&readonly_shm=1")
    if log.exists() and log.stat().st_size:
        return _copied(path, log, stamp)
    return _to_read(path, "mode=ro&immutable=1", stamp)


def _copied(path: Path, log: Path, stamp: Stamp) -> SqliteFile:
    folder = TemporaryDirectory(prefix="refengine-")
    try:
        for each in (path, log):
            shutil.copyfile(each, Path(folder.name, each.name))
        copy = Path(folder.name, path.name)
        return replace(_to_read(path, "mode=ro", stamp, at=copy), copy=folder)
    except BaseException:
        folder.cleanup()
        raise


def _to_read(
    path: Path, how: str, stamp: Stamp | None = None, at: Path | None = None
) -> SqliteFile:
    db, empty = _looked_at(path, how, at)
    if empty:
        db.close()
        raise ForeignStoreError(path, "an empty file")
    db.execute("PRAGMA query_only = ON")
    return SqliteFile(db, stamp)


def _stamp_of(path: Path) -> Stamp:
    return tuple(map(_state_of, (path, _beside(path, "-wal"), _beside(path, "-shm"))))


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _beside(path: Path, end: str) -> Path:
    return path.with_name(f"{path.name}{end}")


def _check_path(path: Path, *, read_only: bool) -> None:
    if path.exists() and not path.is_file():
        raise StoreFileError(path)
    if read_only and not path.exists():
        raise StoreMissingError(path, "file", "give the path of a store")
    if not path.parent.is_dir():
        raise StoreMissingError(path, "folder", f"make {path.parent} first")
    if path.exists() and 0 < path.stat().st_size < _LEAST:
        raise ForeignStoreError(path, "no SQLite file")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    """Connect, in autocommit: each statement is a transaction unless one is begun.

    It waits for no lock by itself: ``SqliteStore`` does, also where SQLite would not.
    """
    uri = f"{path.absolute().as_uri()}?{how}"
    db = sqlite3.connect(
        uri, timeout=0, isolation_level=None, check_same_thread=False, uri=True
    )
    db.execute("PRAGMA trusted_schema = OFF")  # a file may come from anywhere
    return db


def _looked_at(
    path: Path, how: str, at: Path | None = None
) -> tuple[sqlite3.Connection, bool]:
    """Connect, and tell whether the file is empty; a file of others is left again.

    ``at`` is a copy of what errors name.
    """
    db = _connect(at or path, how)
    try:
        return db, _is_empty(db, path)
    except BaseException:
        db.close()
        raise


def _is_empty(db: sqlite3.Connection, path: Path) -> bool:
    """Tell whether nothing is in the file; raises unless it then is a store of ours.

    What it asks for is read in one transaction: another process may be making it.
    """
    db.execute("BEGIN")
    empty = _has_nothing(db, path)
    db.execute("COMMIT")
    return empty


def _has_nothing(db: sqlite3.Connection, path: Path) -> bool:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    layout = db.execute("PRAGMA user_version").fetchone()[0]
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (application, layout, tables) == (0, 0, 0):
        return True
    if application != APPLICATION:
        raise ForeignStoreError(path, "a SQLite file of another program")
    if layout > LAYOUT:
        raise NewerStoreError(path, layout, LAYOUT)
    return False


def _make(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables, unless another process did in the meantime."""
    db.execute("PRAGMA journal_mode = WAL")
    with closing(db.cursor()) as cursor:
        cursor.execute("BEGIN IMMEDIATE")
        try:
            if _has_nothing(db, path):
                cursor.execute(_TABLE)
                cursor.execute(f"PRAGMA application_id = {APPLICATION}")
                cursor.execute(f"PRAGMA user_version = {LAYOUT}")
            cursor.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                cursor.execute("ROLLBACK")
            raise
    _keep_name(path.parent)


def _keep_name(folder: Path) -> None:
    """Force the name of a new file to disk, where a system lets folders be opened."""
    if os.name == "posix":
        opened_folder = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened_folder)
        finally:
            os.close(opened_folder)
