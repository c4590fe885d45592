"""The doors to the reference of sessions with callbacks: its two versions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from compat.dialects.callbacks import (
    CallbackAgent,
    CallbacksProfile,
    MemorySessionStore,
    SessionFact,
    SessionManager,
    SessionResult,
    SessionState,
    SqliteSessionStore,
    callbacks_profile,
)
from compat.engines.callbacks.capabilities import CALLBACKS_CAPABILITIES
from compat.engines.callbacks.world import CallbacksWorld
from refengine.postures import choosing

STORE: Final = "store"
OF_CLIENTS: Final = frozenset(("clients", "versions"))
"""What the first version has no place for."""


class ReferenceSessions:
    """An agent of the engine and its manager, over the store of a world."""

    def __init__(self, world: CallbacksWorld, profile: CallbacksProfile) -> None:
        self.profile = profile
        self._agent = CallbackAgent(world.model, world.tools)
        self._store = world.memory.setdefault(STORE, _store(world))
        self._manager = SessionManager(
            self._agent,
            self._store,
            profile=profile,
            middleware=world.middleware,
            table=world.table,
        )
        self.set_client = self._manager.set_client
        self.remove_client = self._manager.remove_client
        self.set_callbacks = self._manager.set_callbacks
        self.emit = self._agent.emit

    async def run(self, session_id: str, *texts: str) -> SessionResult:
        """Play a session."""
        return await self._agent.run(session_id, *texts)

    def stream(self, session_id: str, *texts: str) -> AsyncGenerator[SessionFact, None]:
        """Play a session and yield its facts."""
        return self._agent.stream(session_id, *texts)

    async def stored(self, session_id: str) -> SessionState | None:
        """Return what is stored of a session."""
        found = await self._store.load(session_id)
        return None if found is None else found.state

    def manage(self) -> None:
        """Make a second manager for the agent."""
        SessionManager(self._agent, self._store, profile=self.profile)


class CallbacksV2:
    """The second version, under any profile that has clients."""

    name = "callbacks"
    version = ""
    capabilities = frozenset(CALLBACKS_CAPABILITIES)

    def __init__(self, profile: CallbacksProfile | str = "callbacks-v2") -> None:
        """Play under a profile; raises UnknownProfileError for a name that is none."""
        given = callbacks_profile(profile) if isinstance(profile, str) else profile
        self.profile = given

    def open(self, world: CallbacksWorld) -> ReferenceSessions:
        """Make an agent and its manager."""
        profile = self.profile
        if world.version == "v1":
            first = callbacks_profile("callbacks-v1")
            profile = choosing(first, "failures", profile.failures)
        return ReferenceSessions(world, profile)


class CallbacksV1(CallbacksV2):
    """The first version, which has one slot and no clients."""

    name = "callbacks-v1"
    capabilities = frozenset(CALLBACKS_CAPABILITIES) - OF_CLIENTS

    def __init__(self, profile: CallbacksProfile | str = "callbacks-v1") -> None:
        """Play under a profile; raises UnknownProfileError for a name that is none."""
        super().__init__(profile)


def _store(world: CallbacksWorld) -> MemorySessionStore | SqliteSessionStore:
    if world.path is None:
        return MemorySessionStore()
    return SqliteSessionStore(world.path)
