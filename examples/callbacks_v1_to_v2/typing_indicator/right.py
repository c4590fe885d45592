"""Shows that the agent is at work, until it is done in any way."""

from collections.abc import Sequence

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    Client,
    SessionManager,
)
from refengine import Message
from refengine.testing.world import World


class _TypingIndicator:
    def __init__(self, world: World) -> None:
        self.world = world

    def step(self, _: int, __: Sequence[Message]) -> None:
        self.world.effect("typing", "on")

    def done(self, _: str, __: str) -> None:
        self.world.effect("typing", "off")


def subject(world: World) -> object:
    """Return what is played in a world."""
    typing = _TypingIndicator(world)
    agent = CallbackAgent(world.model, world.tools)
    manager = SessionManager(agent)
    callbacks = AgentCallbacks(on_agent_step=typing.step, on_session_end=typing.done)
    Client(callbacks).set_session_manager(manager)
    return manager
