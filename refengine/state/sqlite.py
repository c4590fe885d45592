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

How the file is opened and made stands in ``sqlite_file.py``.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self, TypeAlias, TypeVar, get_args

from refengine.state.sqlite_file import (
    SqliteFile,
    Synchronous,
    is_busy,
    named,
    opened,
    opened_to_read,
)
from refengine.state.store_errors import (
    CheckpointConflictError,
    StoreBusyError,
    StoreClosedError,
    StoreDamagedError,
    StoreForkedError,
    StoreMissingError,
    StoreOptionError,
    StoreReadOnlyError,
)
from refengine.state.stores import check_key, check_record, not_found

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
    store that is ``read_only`` makes no file, changes none and refuses to write.

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
        self.path: Path = Path(path).absolute()  # the process may go elsewhere
        if synchronous not in get_args(Synchronous):
            # SQLite would take another word for less, and say nothing.
            raise StoreOptionError("synchronous", synchronous, "'full' or 'normal'")
        if not isinstance(patience, int | float) or not patience >= 0:
            raise StoreOptionError("patience", patience, "seconds, of 0 or more")
        self._patience = patience
        self._synchronous: Synchronous = synchronous
        self._read_only = read_only
        self._file: SqliteFile | None = None
        self._identity: tuple[int, int] | None = None
        self._closed = False
        self._lock = Lock()  # one connection, of which one thread at a time makes use
        self._process = os.getpid()

    async def append(self, key: str, seq: int, record: bytes) -> None:
        """Keep a record; see ``CheckpointStore``. Raises StoreError by its cause."""
        check_key(key)
        check_record(key, record)
        if self._read_only:
            raise StoreReadOnlyError(self.path, "the store is opened to read only")
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
        if self._read_only:
            raise StoreReadOnlyError(self.path, "the store is opened to read only")
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

    def files(self) -> Sequence[Path]:
        """Return the files to which it appends: the end of one may be torn off.

        That is the log, which a power cut in the middle of a write leaves short.
        """
        return [self.path.with_name(f"{self.path.name}-wal")]

    async def aclose(self) -> None:
        """Close the file, once what is being written is; a second time does nothing."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Close the file; as ``aclose``, for whoever has no loop."""
        if self._process != os.getpid():
            return  # what a fork copied is its parent's to close
        with self._lock:
            self._closed = True
            self._leave()

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
                    found = work(self._connection())
                except sqlite3.Error as error:
                    if not is_busy(error) and not self._is_stale():
                        raise named(error, self.path) from error
                    if time.monotonic() >= until:
                        raise StoreBusyError(self.path, self._patience) from error
                else:
                    if not self._is_stale():
                        return found
                time.sleep(random.uniform(0, _PAUSE))  # noqa: S311  # no secret

    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreClosedError(self.path)
        if self._is_stale():
            self._leave()
        if self._file is None:
            self._file = (
                opened_to_read(self.path)
                if self._read_only
                else opened(self.path, self._synchronous)
            )
            self._identity = _identity(self.path)
        elif _identity(self.path) != self._identity:
            # SQLite would go on with the file that has no name any more, and what it
            # acknowledges there would be lost.
            raise StoreMissingError(
                self.path, "file any more", "it was deleted or replaced while in use"
            )
        return self._file.db

    def _is_stale(self) -> bool:
        """Tell whether others wrote while it was read: then it is not an answer."""
        return self._file is not None and self._file.is_stale(self.path)

    def _leave(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

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
