"""Connects a client for the typing and one for the lines, each with both."""

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    Client,
    SessionManager,
)
from refengine.testing.world import World


class _Transcript:
    def __init__(self, world: World) -> None:
        self.world = world

    def delta(self, text: str) -> None:
        self.world.effect("typed", text)

    def done(self, text: str) -> None:
        self.world.effect("line", text)


def subject(world: World) -> object:
    """Return what is played in a world."""
    view = _Transcript(world)
    agent = CallbackAgent(world.model, world.tools)
    manager = SessionManager(agent)
    client = Client()
    client.set_session_manager(manager)
    client.set_agent_callbacks(
        AgentCallbacks(on_llm_text_delta=view.delta, on_llm_text_done=view.done)
    )
    manager.set_client(Client(client.agent_callbacks))
    return manager
