"""Opening a store's file: what is refused before anything in it is touched."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, Literal, TypeAlias

from refengine.state.sqlite_naming import code_of
from refengine.state.store_errors import (
    ForeignStoreError,
    NewerStoreError,
    StoreFileError,
    StoreMissingError,
)

Synchronous: TypeAlias = Literal["full", "normal"]
"""When a write is safe: in a power cut too, or in a crash of the process only."""
APPLICATION: Final = 0x72666E67
"""``rfng``: stands in the header of the file, and says whose it is."""
LAYOUT: Final = 1
"""Stands beside it: the tables as they are below."""

_LEAST: Final = 512
"""Bytes of the smallest database. SQLite takes less for nothing, and writes over it.

The file is not opened to look: when it is closed again, a POSIX system would take from
this process the locks of every other connection to it.
"""
_SHUT: Final = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_TABLE: Final = """
CREATE TABLE records (
    key TEXT NOT NULL, seq INTEGER NOT NULL, record BLOB NOT NULL,
    PRIMARY KEY (key, seq)
)
"""


def opened(
    path: Path, synchronous: Synchronous, *, read_only: bool
) -> sqlite3.Connection:
    """Return a connection to the store at that path, made if it is not there.

    Raises StoreError by its cause, and sqlite3.Error where SQLite knows better.
    """
    _check_place(path, read_only=read_only)
    if read_only:
        return _open_to_read(path)
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
    return db


def _check_place(path: Path, *, read_only: bool) -> None:
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


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Connect to a store that is there, and change nothing in it.

    Even a reader needs the log beside the file. Where the folder cannot be written and
    no log is left, nobody writes, and SQLite is told to do without.
    """
    try:
        db, empty = _looked_at(path, "mode=rw")
    except sqlite3.OperationalError as error:
        if code_of(error) not in _SHUT or _log_of(path).exists():
            raise
        db, empty = _looked_at(path, "mode=ro&immutable=1")
    if empty:
        db.close()
        raise ForeignStoreError(path, "an empty file")
    db.execute("PRAGMA query_only = ON")
    return db


def _looked_at(path: Path, how: str) -> tuple[sqlite3.Connection, bool]:
    """Connect, and tell whether the file is empty; a file of others is left again."""
    db = _connect(path, how)
    try:
        return db, _is_empty(db, path)
    except BaseException:
        db.close()
        raise


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


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
