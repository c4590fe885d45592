"""Keeps sessions in a file of JSON each, in which they come back in a new process."""

import json
from pathlib import Path

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    SessionManager,
    SessionState,
    SessionStore,
    StoredSession,
)
from compat.dialects.callbacks.state import state_of
from refengine.testing.world import World

FOLDER = Path.home() / ".local" / "share" / "sessions"


class _FileStore:
    """One file a session, written anew each time."""

    async def load(self, session_id: str) -> StoredSession | None:
        path = FOLDER / f"{session_id}.json"
        if not path.exists():
            return None
        kept = json.loads(path.read_text("utf-8"))
        return StoredSession(state_of(kept["state"], session_id), kept["revision"])

    async def revision(self, session_id: str) -> int:
        found = await self.load(session_id)
        return 0 if found is None else found.revision

    async def save(self, state: SessionState, since: int, revision: int) -> int:  # noqa: ARG002  # all of it is written anew
        FOLDER.mkdir(parents=True, exist_ok=True)
        kept = {"state": state.as_json(), "revision": revision + 1}
        path = FOLDER / f"{state.session_id}.json"
        path.write_text(json.dumps(kept), "utf-8")
        return revision + 1


class _Saved:
    """Tells how much of a session can be relied on to be there."""

    def __init__(self, world: World, store: SessionStore) -> None:
        self.world, self.store = world, store

    async def saved(self, state: SessionState) -> None:
        stored = await self.store.load(state.session_id)
        count = 0 if stored is None else len(stored.state.messages)
        self.world.effect("saved", [state.session_id, count])


def subject(world: World) -> object:
    """Return what is played in a world."""
    store = _FileStore()
    agent = CallbackAgent(world.model, world.tools)
    manager = SessionManager(agent, store, profile="callbacks-v1")
    manager.set_callbacks(AgentCallbacks(on_state_storage=_Saved(world, store).saved))
    return manager
