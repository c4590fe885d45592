"""Is done when a text is, so a model that fails leaves it on."""

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

    def done(self, _: str) -> None:
        self.world.effect("typing", "off")


def subject(world: World) -> object:
    """Return what is played in a world."""
    typing = _TypingIndicator(world)
    agent = CallbackAgent(world.model, world.tools)
    manager = SessionManager(agent)
    callbacks = AgentCallbacks(on_agent_step=typing.step, on_llm_text_done=typing.done)
    Client(callbacks).set_session_manager(manager)
    return manager
