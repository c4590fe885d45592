"""Where sessions are kept: in memory, or in one SQLite file.

A store is told from which message on a state is new, so that saving a session costs
what it changed. Its revision is compared first: what somebody else has stored since is
not overwritten.
"""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import dataclass
from typing import Final, Protocol, final

from compat.dialects.callbacks.errors import StaleStateError
from compat.dialects.callbacks.state import SessionState
from compat.dialects.sqlite_file import DialectFile
from refengine.messages import History
from refengine.testing.json_values import read_message, write

APPLICATION: Final = 0x72666362
"""``rfcb``: stands in the header of the file, and says whose it is."""

_TABLES: Final = """
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY, revision INTEGER NOT NULL, more TEXT NOT NULL
);
CREATE TABLE messages (
    session TEXT NOT NULL, seq INTEGER NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY (session, seq)
);
"""
_UPSERT: Final = "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)"


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A state as it is kept, and how often it has been stored."""

    state: SessionState
    revision: int


class SessionStore(Protocol):
    """Keeps sessions by id."""

    async def load(self, session_id: str) -> StoredSession | None:
        """Return what is kept of the session, None if nothing is."""
        ...

    async def revision(self, session_id: str) -> int:
        """Return how often the session has been stored."""
        ...

    async def save(self, state: SessionState, since: int, revision: int) -> int:
        """Keep a state and return its revision.

        The messages before ``since`` are those that are kept. ``revision`` is the one
        that was loaded, 0 if none was. Raises StaleStateError if another is kept.
        """
        ...


@final
class MemorySessionStore:
    """Keeps sessions as long as it lives; see SessionStore."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[str, StoredSession] = {}

    async def load(self, session_id: str) -> StoredSession | None:
        """Return what is kept of the session; see SessionStore."""
        return self._kept.get(session_id)

    async def revision(self, session_id: str) -> int:
        """Return how often the session has been stored."""
        found = self._kept.get(session_id)
        return found.revision if found else 0

    async def save(self, state: SessionState, since: int, revision: int) -> int:  # noqa: ARG002  # states share what they have
        """Keep a state; see SessionStore."""
        _check(state, revision, await self.revision(state.session_id))
        self._kept[state.session_id] = StoredSession(state, revision + 1)
        return revision + 1


@final
class SqliteSessionStore:
    """Keeps sessions in the file at ``path``; see SessionStore.

    Raises StoreError by its cause, and ForeignStoreError for a file of something else.
    """

    __slots__ = ("_file",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = DialectFile(path, APPLICATION, _TABLES)

    async def load(self, session_id: str) -> StoredSession | None:
        """Return what is kept of the session; see SessionStore."""
        return await self._file.done(lambda db: _load(db, session_id))

    async def revision(self, session_id: str) -> int:
        """Return how often the session has been stored."""
        return await self._file.done(lambda db: _revision(db, session_id))

    async def save(self, state: SessionState, since: int, revision: int) -> int:
        """Keep a state, writing the messages from ``since`` on; see SessionStore."""
        return await self._file.done(lambda db: _save(db, state, since, revision))


def _check(state: SessionState, revision: int, found: int) -> None:
    if found != revision:
        raise StaleStateError(state.session_id, revision, found)


def _load(db: sqlite3.Connection, session_id: str) -> StoredSession | None:
    ask = "SELECT revision, more FROM sessions WHERE id = ?"
    row = db.execute(ask, (session_id,)).fetchone()
    if row is None:
        return None
    listed = "SELECT message FROM messages WHERE session = ? ORDER BY seq"
    messages = tuple(read_message(x) for (x,) in db.execute(listed, (session_id,)))
    state = SessionState(session_id, History(messages), json.loads(row[1]))
    return StoredSession(state, row[0])


def _revision(db: sqlite3.Connection, session_id: str) -> int:
    ask = "SELECT revision FROM sessions WHERE id = ?"
    row = db.execute(ask, (session_id,)).fetchone()
    return row[0] if row else 0


def _save(
    db: sqlite3.Connection, state: SessionState, since: int, revision: int
) -> int:
    key = state.session_id
    _check(state, revision, _revision(db, key))
    db.execute("DELETE FROM messages WHERE session = ? AND seq >= ?", (key, since))
    rows = [
        (key, at, write(each))
        for at, each in enumerate(state.messages.since(since), since)
    ]
    db.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
    more = json.dumps(state.more_as_json())
    db.execute(_UPSERT, (key, revision + 1, more))
    return revision + 1
