"""The store that comes with the engine: one SQLite file, for many processes at once.

What is promised, and by what:

- An ``append`` that returned outlives ``kill -9`` and, with ``synchronous="full"``, a
  power cut: each is one transaction, and the log is forced to disk before it ends.
- Nothing half-written is read: a transaction that did not end is not there.
- Of several that write one number one succeeds, whichever process each is in: the
  number is compared in the statement that inserts.
- Nobody fails because others write: whoever finds the file locked waits and tries
  again, for as long as ``patience`` says.

SQLite's log of changes (WAL) needs memory that all writers share, so they have to be on
one machine: a file on a network share is not for two of them.

What stands at the path is looked at, and perhaps refused, before anything in it is
touched. What SQLite says went wrong comes out by the names that our users read.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias, TypeVar, get_args

from refengine.state.store_errors import (
    CheckpointConflictError,
    ForeignStoreError,
    NewerStoreError,
    StoreBusyError,
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreFileError,
    StoreForkedError,
    StoreFullError,
    StoreMissingError,
    StoreOptionError,
    StoreReadOnlyError,
)
from refengine.state.stores import check_key, check_record, not_found

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
APPLICATION: Final = 0x72666E67
"""``rfng``: stands in the header of the file, and says whose it is."""
LAYOUT: Final = 1
"""Stands beside it: the tables as they are below."""

_LEAST: Final = 512
"""Bytes of the smallest database. SQLite takes less for nothing, and writes over it.

The file is not opened to look: when it is closed again, a POSIX system would take from
this process the locks of every other connection to it.
"""
_UNOPENED: Final = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
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
    _check_path(path, read_only=read_only)
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


def _open_to_read(path: Path) -> sqlite3.Connection:
    """Connect to a store that is there, and change nothing in it.

    Even a reader needs the log beside the file. Where the folder cannot be written and
    no log is left, nobody writes, and SQLite is told to do without.
    """
    try:
        db, empty = _looked_at(path, "mode=rw")
    except sqlite3.OperationalError as error:
        if code_of(error) not in _UNOPENED or _log_of(path).exists():
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


T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], T]

PATIENCE: Final = 30.0
"""Seconds that a write waits for other processes."""
_PAUSE: Final = 0.004
"""Seconds between two tries, at most.

SQLite's own pauses grow to 100 ms: where many write, who came late would wait longest.
With short ones of random length everybody has his turn.
"""
_LAST: Final = 2**63 - 1

_APPEND: Final = """
INSERT INTO records (key, seq, record) SELECT :key, :seq, :record
WHERE :seq = (SELECT coalesce(max(seq) + 1, 0) FROM records WHERE key = :key)
"""
_HAVE: Final = "SELECT coalesce(max(seq) + 1, 0) FROM records WHERE key = ?"
_READ: Final = "SELECT seq, record FROM records WHERE key = ? ORDER BY seq"
_DELETE: Final = "DELETE FROM records WHERE key = ?"
_KEYS: Final = "SELECT DISTINCT key FROM records ORDER BY key"


class SqliteStore:
    """Keeps records in the file at ``path``, which is made at the first use.

    ``patience`` are the seconds a write waits for other processes. ``synchronous`` is
    "full", or "normal" for whoever accepts that a power cut (not a crash of the
    process) takes the last steps, and gets an append without waiting for the disk. A
    store that is ``read_only`` makes no file and refuses to write.

    Tasks, threads and loops may share one. It works in threads of the running loop, has
    none of its own, and is closed by ``aclose``, ``close`` or ``async with``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        patience: float = PATIENCE,
        synchronous: Synchronous = "full",
        read_only: bool = False,
    ) -> None:
        self.path = Path(path).absolute()  # the process may go elsewhere
        if synchronous not in get_args(Synchronous):
            # SQLite would take another word for less, and say nothing.
            raise StoreOptionError("synchronous", synchronous, "'full' or 'normal'")
        if not isinstance(patience, int | float) or not patience >= 0:
            raise StoreOptionError("patience", patience, "seconds, of 0 or more")
        self._patience = patience
        self._synchronous: Synchronous = synchronous
        self._read_only = read_only
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._closed = False
        self._lock = Lock()  # one connection, of which one thread at a time makes use
        self._process = os.getpid()

    async def append(self, key: str, seq: int, record: bytes) -> None:
        """Keep a record; see ``CheckpointStore``. Raises StoreError by its cause."""
        check_key(key)
        check_record(key, record)
        await self._done(lambda db: _append(db, key, seq, record))

    async def read(self, key: str) -> Sequence[bytes]:
        """Return the records of a key; see ``CheckpointStore``.

        Raises StoreDamagedError if one in between is missing.
        """
        check_key(key)
        return await self._done(lambda db: self._row(db, key))

    async def delete(self, key: str) -> None:
        """Delete the records of a key; see ``CheckpointStore``.

        Their bytes may stay in the file until SQLite needs the room.
        """
        check_key(key)
        await self._done(lambda db: _delete(db, key))

    async def keys(self) -> Sequence[str]:
        """Return all keys, sorted."""
        return await self._done(_keys)

    async def damage(self) -> Sequence[str]:
        """Return what SQLite finds broken in the file: nothing, if it is whole."""
        try:
            return await self._done(_damage)
        except StoreDamagedError as error:
            return [error.detail]

    async def aclose(self) -> None:
        """Close the file, once what is being written is; a second time does nothing."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Close the file; as ``aclose``, for whoever has no loop."""
        if self._process != os.getpid():
            return  # what a fork copied is its parent's to close
        with self._lock:
            self._closed = True
            db, self._db = self._db, None
            if db is not None:
                db.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _done(self, work: Work[T]) -> T:
        return await asyncio.to_thread(self._patiently, work)

    def _patiently(self, work: Work[T]) -> T:
        """Do some work, again and again while others keep the file locked.

        Each is one statement, so one that met a lock has changed nothing.
        """
        if self._process != os.getpid():
            raise StoreForkedError(self.path)  # before the lock: it may be copied taken
        with self._lock:
            until = time.monotonic() + self._patience
            while True:
                try:
                    return work(self._connection())
                except sqlite3.Error as error:
                    if not is_busy(error):
                        raise named(error, self.path) from error
                    if time.monotonic() >= until:
                        raise StoreBusyError(self.path, self._patience) from error
                time.sleep(random.uniform(0, _PAUSE))  # noqa: S311  # no secret

    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreClosedError(self.path)
        if self._db is None:
            self._db = opened(self.path, self._synchronous, read_only=self._read_only)
            self._file = _identity(self.path)
        elif _identity(self.path) != self._file:
            # SQLite would go on with the file that has no name any more, and what it
            # acknowledges there would be lost.
            raise StoreMissingError(
                self.path, "file any more", "it was deleted or replaced while in use"
            )
        return self._db

    def _row(self, db: sqlite3.Connection, key: str) -> list[bytes]:
        found = db.execute(_READ, (key,)).fetchall()
        if not found:
            raise not_found(key, _keys(db))
        for at, (seq, record) in enumerate(found):
            if seq != at or not isinstance(record, bytes):
                raise StoreDamagedError(self.path, f"key {key!r} has no record {at}")
        return [record for _, record in found]


def _append(db: sqlite3.Connection, key: str, seq: int, record: bytes) -> None:
    if 0 <= seq <= _LAST:  # what SQLite takes for a number
        values = {"key": key, "seq": seq, "record": record}
        if db.execute(_APPEND, values).rowcount == 1:
            return
    raise CheckpointConflictError(key, seq, db.execute(_HAVE, (key,)).fetchone()[0])


def _delete(db: sqlite3.Connection, key: str) -> None:
    if not db.execute(_DELETE, (key,)).rowcount:
        raise not_found(key, _keys(db))


def _keys(db: sqlite3.Connection) -> list[str]:
    return [key for (key,) in db.execute(_KEYS)]


def _damage(db: sqlite3.Connection) -> list[str]:
    found = [str(each) for (each,) in db.execute("PRAGMA integrity_check")]
    return [] if found == ["ok"] else found


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
