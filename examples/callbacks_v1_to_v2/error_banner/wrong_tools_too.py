"""Shows a tool that failed, and then the error that it ends the run with."""

from collections.abc import Sequence

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    Client,
    SessionManager,
)
from refengine import Message
from refengine.testing.world import World


class _Banner:
    def __init__(self, world: World) -> None:
        self.world = world

    def error(self, _: Exception, where: str) -> None:
        self.world.effect("banner", where)

    def ended(self, name: str, _: str, __: str | None, error: Exception | None) -> None:
        if error is not None:
            self.world.effect("banner", name)

    def step(self, _: int, __: Sequence[Message]) -> None:
        self.world.effect("banner", None)


def subject(world: World) -> object:
    """Return what is played in a world."""
    banner = _Banner(world)
    agent = CallbackAgent(world.model, world.tools)
    callbacks = AgentCallbacks(
        on_error=banner.error,
        on_agent_step=banner.step,
        on_tool_execution_end=banner.ended,
    )
    manager = SessionManager(agent)
    manager.set_client(Client(callbacks))
    return manager
