"""Keeps sessions in memory, where a new process does not find them."""

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    Client,
    MemorySessionStore,
    SessionManager,
    SessionState,
    SessionStore,
)
from refengine.testing.world import World


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
    store = MemorySessionStore()
    agent = CallbackAgent(world.model, world.tools)
    manager = SessionManager(agent, store)
    saved = _Saved(world, store).saved
    manager.set_client(Client(AgentCallbacks(on_state_storage=saved)))
    return manager
