"""Shows which tools began, and how they ended."""

from compat.dialects.callbacks import (
    AgentCallbacks,
    CallbackAgent,
    Client,
    SessionManager,
)
from refengine import ToolCall
from refengine.testing.world import World


class _Timeline:
    def __init__(self, world: World) -> None:
        self.world = world

    def started(self, call: ToolCall) -> None:
        self.world.effect("timeline", [call.name, "started"])

    def ended(self, name: str, _: str, __: str | None, error: Exception | None) -> None:
        self.world.effect("timeline", [name, "failed" if error else "done"])


def subject(world: World) -> object:
    """Return what is played in a world."""
    line = _Timeline(world)
    agent = CallbackAgent(world.model, world.tools)
    manager = SessionManager(agent)
    client = Client()
    client.set_agent_callbacks(
        AgentCallbacks(
            on_tool_call_start=line.started, on_tool_execution_end=line.ended
        )
    )
    manager.set_client(client)
    return manager
