"""Sessions, and the service that keeps them in memory.

A session that is handed out is a copy. ``append`` writes to what is kept and to that
copy, and refuses a copy that is behind, so that two runs of one session cannot lose
each other's events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, final
from uuid import uuid4

from compat.dialects.flow.events import Event
from compat.dialects.flow.run_errors import SessionError, StaleSessionError
from compat.dialects.flow.state import checked_json, lasting, merged, scoped
from refengine.messages import Json


@dataclass(slots=True, kw_only=True)
class Session:
    """What one conversation holds: its events, and the state of its three scopes.

    It changes while it runs. ``revision`` counts what was written, by anybody.
    """

    app: str
    user_id: str
    id: str
    state: dict[str, Json] = field(default_factory=dict[str, Json])
    events: list[Event] = field(default_factory=list[Event])
    revision: int = 0


class SessionService(Protocol):
    """Where sessions are kept."""

    async def create(
        self,
        app: str,
        user_id: str,
        session_id: str | None = None,
        state: Mapping[str, object] | None = None,
    ) -> Session:
        """Make a session; raises SessionError if there is one of that id."""
        ...

    async def get(self, app: str, user_id: str, session_id: str) -> Session | None:
        """Return a copy of the session, None if there is none."""
        ...

    async def list(self, app: str, user_id: str) -> tuple[str, ...]:
        """Return the ids of the user's sessions, sorted."""
        ...

    async def delete(self, app: str, user_id: str, session_id: str) -> None:
        """Forget the session; nothing happens if there is none."""
        ...

    async def append(self, session: Session, event: Event) -> Event:
        """Keep the event and what its delta says of the state, both or neither.

        Returns the event as it is kept, without ``temp:`` keys; a partial one is kept
        nowhere. Raises StaleSessionError, SessionError.
        """
        ...


def initial_state(state: Mapping[str, object] | None) -> dict[str, Json]:
    """Return the state that a session is made with; raises NotJsonError."""
    given = state or {}
    return {key: checked_json(each, f"state[{key!r}]") for key, each in given.items()}


def kept_event(event: Event) -> Event:
    """Return the event without what lasts for its invocation only."""
    delta = lasting(event.actions.state_delta)
    if len(delta) == len(event.actions.state_delta):
        return event
    return replace(event, actions=replace(event.actions, state_delta=delta))


def follow(session: Session, event: Event) -> None:
    """Have a session that was handed out show what was just kept."""
    session.state.update(event.actions.state_delta)
    session.events.append(kept_event(event))
    session.revision += 1


@final
class InMemorySessionService:
    """Keeps sessions as long as it lives."""

    def __init__(self, new_id: Callable[[], str] = lambda: uuid4().hex) -> None:
        self._new_id = new_id
        self._sessions: dict[tuple[str, str, str], Session] = {}
        self._app: defaultdict[str, dict[str, Json]] = defaultdict(dict)
        self._user: defaultdict[tuple[str, str], dict[str, Json]] = defaultdict(dict)

    async def create(
        self,
        app: str,
        user_id: str,
        session_id: str | None = None,
        state: Mapping[str, object] | None = None,
    ) -> Session:
        """Make a session; see SessionService."""
        given = initial_state(state)
        made = Session(app=app, user_id=user_id, id=session_id or self._new_id())
        key = (app, user_id, made.id)
        if key in self._sessions:
            raise SessionError(*key, "is there already: give another id, or get it")
        self._sessions[key] = made
        self._write(made, given)
        return self._copy(made)

    async def get(self, app: str, user_id: str, session_id: str) -> Session | None:
        """Return a copy; see SessionService."""
        found = self._sessions.get((app, user_id, session_id))
        return None if found is None else self._copy(found)

    async def list(self, app: str, user_id: str) -> tuple[str, ...]:
        """Return the ids of the user's sessions, sorted."""
        found = (key[2] for key in self._sessions if key[:2] == (app, user_id))
        return tuple(sorted(found))

    async def delete(self, app: str, user_id: str, session_id: str) -> None:
        """Forget the session; nothing happens if there is none."""
        self._sessions.pop((app, user_id, session_id), None)

    async def append(self, session: Session, event: Event) -> Event:
        """Keep the event; see SessionService."""
        if event.partial:
            return event
        key = (session.app, session.user_id, session.id)
        stored = self._sessions.get(key)
        if stored is None:
            raise SessionError(*key, "is not there: create it")
        if stored.revision != session.revision:
            raise StaleSessionError(session.id, session.revision, stored.revision)
        kept = kept_event(event)
        self._write(stored, event.actions.state_delta)
        stored.events.append(kept)
        stored.revision += 1
        follow(session, event)
        return kept

    def _write(self, stored: Session, delta: Mapping[str, Json]) -> None:
        app, user, own = scoped(delta)
        self._app[stored.app].update(app)
        self._user[stored.app, stored.user_id].update(user)
        stored.state.update(own)

    def _copy(self, stored: Session) -> Session:
        shared = self._app[stored.app], self._user[stored.app, stored.user_id]
        state = merged(*shared, stored.state)
        return replace(stored, state=state, events=list(stored.events))
