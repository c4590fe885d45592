"""Sessions and artifacts in one SQLite file, for several processes on one machine.

An event and what it says of the state are one transaction, in which the session's
revision is compared: of two that write the same session one is refused. State of app
and user is written key by key, so that two sessions of a user do not undo each other's.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from typing import Final, TypeVar, cast, final
from uuid import uuid4

from compat.dialects.flow.artifacts import ArtifactPlace
from compat.dialects.flow.content import Part
from compat.dialects.flow.events import Event
from compat.dialects.flow.run_errors import SessionError, StaleSessionError
from compat.dialects.flow.sessions import Session, follow, initial_state, kept_event
from compat.dialects.flow.state import merged, scoped
from compat.dialects.flow.values import as_json, from_json, plain
from compat.dialects.sqlite_file import DialectFile
from refengine.messages import Json, frozen_json

T = TypeVar("T")

APPLICATION: Final = 0x72666C77
"""``rflw``: stands in the header of the file, and says whose it is."""

_TABLES: Final = """
CREATE TABLE sessions (
    app TEXT NOT NULL, user TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL,
    PRIMARY KEY (app, user, id)
);
CREATE TABLE state (
    app TEXT NOT NULL, user TEXT NOT NULL, session TEXT NOT NULL,
    key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (app, user, session, key)
);
CREATE TABLE events (
    app TEXT NOT NULL, user TEXT NOT NULL, session TEXT NOT NULL,
    seq INTEGER NOT NULL, event TEXT NOT NULL,
    PRIMARY KEY (app, user, session, seq)
);
CREATE TABLE artifacts (
    app TEXT NOT NULL, user TEXT NOT NULL, session TEXT NOT NULL,
    name TEXT NOT NULL, version INTEGER NOT NULL, part TEXT NOT NULL,
    PRIMARY KEY (app, user, session, name, version)
);
"""
_PUT_STATE: Final = "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, ?)"
_OF_SESSION: Final = "app = ? AND user = ? AND session = ?"
_NEXT_VERSION: Final = (
    f"SELECT coalesce(max(version) + 1, 0) FROM artifacts WHERE {_OF_SESSION}"  # noqa: S608  # a constant of ours
    " AND name = ?"
)


@final
class SqliteSessionService:
    """Keeps sessions in the file; see SessionService."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        self._file, self._new_id = DialectFile(path, APPLICATION, _TABLES), new_id

    async def create(
        self,
        app: str,
        user_id: str,
        session_id: str | None = None,
        state: Mapping[str, object] | None = None,
    ) -> Session:
        """Make a session; see SessionService."""
        given, made = initial_state(state), session_id or self._new_id()
        return await self._file.done(lambda db: _create(db, app, user_id, made, given))

    async def get(self, app: str, user_id: str, session_id: str) -> Session | None:
        """Return the session as it is kept; see SessionService."""
        return await self._file.done(lambda db: _read(db, app, user_id, session_id))

    async def list(self, app: str, user_id: str) -> tuple[str, ...]:
        """Return the ids of the user's sessions, sorted."""
        ask = "SELECT id FROM sessions WHERE app = ? AND user = ? ORDER BY id"
        rows = await self._file.done(
            lambda db: db.execute(ask, (app, user_id)).fetchall()
        )
        return tuple(row[0] for row in rows)

    async def delete(self, app: str, user_id: str, session_id: str) -> None:
        """Forget the session; nothing happens if there is none."""
        await self._file.done(lambda db: _delete(db, app, user_id, session_id))

    async def append(self, session: Session, event: Event) -> Event:
        """Keep the event; see SessionService."""
        if event.partial:
            return event
        kept = kept_event(event)
        await self._file.done(lambda db: _append(db, session, kept))
        follow(session, event)
        return kept


@final
class SqliteArtifactService:
    """Keeps artifacts in the file; see ArtifactService."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = DialectFile(path, APPLICATION, _TABLES)

    async def save(self, place: ArtifactPlace, name: str, part: Part) -> int:
        """Keep one more version of the file and return its number, from 0."""
        key = (*place.of(name), name)
        text = _text(as_json(part))

        def work(db: sqlite3.Connection) -> int:
            (version,) = db.execute(_NEXT_VERSION, key).fetchone()
            values = (*key, version, text)
            db.execute("INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?)", values)
            return cast("int", version)

        return await self._file.done(work)

    async def load(
        self, place: ArtifactPlace, name: str, version: int | None = None
    ) -> Part | None:
        """Return that version, the newest if none is named; None if there is none."""
        ask = (
            "SELECT part FROM artifacts WHERE app = ? AND user = ? AND session = ?"
            " AND name = ? AND version = coalesce(?, version)"
            " ORDER BY version DESC LIMIT 1"
        )
        values = (*place.of(name), name, version)
        row = await self._file.done(lambda db: db.execute(ask, values).fetchone())
        return None if row is None else from_json(Part, json.loads(row[0]))

    async def names(self, place: ArtifactPlace) -> tuple[str, ...]:
        """Return the names of the session's and the user's files, sorted."""
        ask = (
            "SELECT DISTINCT name FROM artifacts WHERE app = ? AND user = ?"
            " AND session IN (?, '') ORDER BY name"
        )
        rows = await self._file.done(lambda db: db.execute(ask, place).fetchall())
        return tuple(row[0] for row in rows)

    async def delete(self, place: ArtifactPlace, name: str) -> None:
        """Forget all versions of the file; nothing happens if there is none."""
        what = (
            "DELETE FROM artifacts WHERE app = ? AND user = ? AND session = ?"
            " AND name = ?"
        )
        values = (*place.of(name), name)
        await self._file.done(lambda db: db.execute(what, values))


def _text(value: Json) -> str:
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def _create(
    db: sqlite3.Connection, app: str, user: str, made: str, given: Mapping[str, Json]
) -> Session:
    try:
        db.execute("INSERT INTO sessions VALUES (?, ?, ?, 0)", (app, user, made))
    except sqlite3.IntegrityError as cause:
        what = "is there already: give another id, or get it"
        raise SessionError(app, user, made, what) from cause
    _put(db, (app, user, made), given)
    return cast("Session", _read(db, app, user, made))


def _put(
    db: sqlite3.Connection, key: tuple[str, str, str], delta: Mapping[str, Json]
) -> None:
    app, user, session = key
    places = ((app, "", ""), (app, user, ""), (app, user, session))
    for place, values in zip(places, scoped(delta), strict=True):
        rows = [(*place, name, _text(each)) for name, each in values.items()]
        db.executemany(_PUT_STATE, rows)


def _read(db: sqlite3.Connection, app: str, user: str, made: str) -> Session | None:
    key = (app, user, made)
    ask = "SELECT revision FROM sessions WHERE app = ? AND user = ? AND id = ?"
    row = db.execute(ask, key).fetchone()
    if row is None:
        return None
    listed = f"SELECT event FROM events WHERE {_OF_SESSION} ORDER BY seq"  # noqa: S608  # a constant of ours
    events = [from_json(Event, json.loads(x)) for (x,) in db.execute(listed, key)]
    places = ((app, "", ""), (app, user, ""), key)
    state = merged(*(_values(db, each) for each in places))
    return Session(
        app=app, user_id=user, id=made, state=state, events=events, revision=row[0]
    )


def _values(db: sqlite3.Connection, place: tuple[str, str, str]) -> dict[str, Json]:
    ask = f"SELECT key, value FROM state WHERE {_OF_SESSION}"  # noqa: S608  # a constant of ours
    return {key: frozen_json(json.loads(x)) for key, x in db.execute(ask, place)}


def _append(db: sqlite3.Connection, session: Session, kept: Event) -> None:
    key = (session.app, session.user_id, session.id)
    ask = "SELECT revision FROM sessions WHERE app = ? AND user = ? AND id = ?"
    row = db.execute(ask, key).fetchone()
    if row is None:
        raise SessionError(*key, "is not there: create it")
    if row[0] != session.revision:
        raise StaleSessionError(session.id, session.revision, row[0])
    seq = len(session.events)
    values = (*key, seq, _text(as_json(kept)))
    db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", values)
    _put(db, key, kept.actions.state_delta)
    written = "UPDATE sessions SET revision = revision + 1"
    db.execute(f"{written} WHERE app = ? AND user = ? AND id = ?", key)


def _delete(db: sqlite3.Connection, app: str, user: str, made: str) -> None:
    key = (app, user, made)
    db.execute("DELETE FROM sessions WHERE app = ? AND user = ? AND id = ?", key)
    for table in ("events", "state"):
        db.execute(f"DELETE FROM {table} WHERE {_OF_SESSION}", key)  # noqa: S608  # constants of ours
