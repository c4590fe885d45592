"""What dialects keep in one SQLite file, for several processes on one machine.

A piece of work is one transaction: all of it is kept or nothing.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeVar, final

from refengine.state.sqlite_file import named
from refengine.state.store_errors import ForeignStoreError

T = TypeVar("T")

PATIENCE: Final = 30.0
"""Seconds that a transaction waits for those of other processes."""


@final
class DialectFile:
    """The file at ``path``, which is made with these tables at its first use.

    ``application`` stands in its header and says whose it is. Raises ForeignStoreError
    for a file of something else, and StoreError by its cause.
    """

    __slots__ = ("_application", "_tables", "path")

    def __init__(
        self, path: str | os.PathLike[str], application: int, tables: str
    ) -> None:
        self.path = Path(path).absolute()  # the process may go elsewhere
        self._application, self._tables = application, tables

    async def done(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it in one transaction, in a thread; all of it is kept or nothing."""
        return await asyncio.to_thread(self._done, work)

    def _done(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._transaction() as db:
                return work(db)
        except sqlite3.Error as error:
            raise named(error, self.path) from error

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection, None, None]:
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        with closing(connection) as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                self._prepare(db)
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def _prepare(self, db: sqlite3.Connection) -> None:
        (whose,) = db.execute("PRAGMA application_id").fetchone()
        if whose == self._application:
            return
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables:
            raise ForeignStoreError(self.path, "not made by this dialect")
        db.execute(f"PRAGMA application_id = {self._application}")
        for statement in self._tables.split(";"):
            db.execute(statement)
