"""The external system is the listener, and the user has a client."""

from collections.abc import Sequence

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    Client,
    SessionManager,
)
from refengine import Message
from refengine.testing.world import World


class _Audit:
    def __init__(self, world: World) -> None:
        self.world = world

    def step(self, index: int, _: Sequence[Message]) -> None:
        self.world.effect("audit", ["step", index])

    def ended(
        self, name: str, call_id: str, result: str | None, _: Exception | None
    ) -> None:
        self.world.effect("audit", [name, call_id, result])

    def report(self, _: Exception, where: str) -> None:
        self.world.effect("audit", ["error", where])

    def show(self, _: Exception, where: str) -> None:
        self.world.effect("banner", where)


def subject(world: World) -> object:
    """Return what is played in a world."""
    audit = _Audit(world)
    agent = CallbackAgent(world.model, world.tools)
    callbacks = AgentCallbacks(
        on_agent_step=audit.step,
        on_tool_execution_end=audit.ended,
        on_error=audit.report,
    )
    manager = SessionManager(agent)
    manager.set_callbacks(callbacks)
    manager.set_client(Client(AgentCallbacks(on_error=audit.show)))
    return manager
