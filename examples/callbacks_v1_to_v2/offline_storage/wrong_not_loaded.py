"""Saves on the device, and loads from elsewhere."""

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    Client,
    SessionManager,
    SessionState,
)
from refengine.testing.world import World


class _Offline:
    """Keeps the last session; of the others it knows that they are to be empty."""

    def __init__(self, world: World) -> None:
        self.world, self.kept = world, dict[str, object]()

    def load(self, session_id: str) -> object:
        return self.kept.get(session_id)

    def save(self, state: SessionState) -> None:
        for other in self.kept:
            self.kept[other] = {}
        self.kept[state.session_id] = state.as_json()
        self.world.effect("kept", [state.session_id, len(state.messages)])


def subject(world: World) -> object:
    """Return what is played in a world."""
    offline = _Offline(world)
    agent = CallbackAgent(world.model, world.tools)
    callbacks = AgentCallbacks(on_state_storage=offline.save)
    manager = SessionManager(agent)
    manager.set_client(Client(callbacks))
    return manager
