"""Clients: who shows a session to its user, by callbacks set at any time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from compat.dialects.callbacks.table import AgentCallbacks
from refengine.messages import ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from refengine.messages import Message


class SessionClient(Protocol):
    """What a manager needs of a client; it is read when something is delivered."""

    agent_callbacks: AgentCallbacks | None


class ClientRegistry(Protocol):
    """What a client connects to: a session manager."""

    def set_client(self, client: SessionClient) -> None:
        """Connect a client; one that is connected stays so."""
        ...


class Client:
    """A client whose callbacks are set from outside."""

    def __init__(self, callbacks: AgentCallbacks | None = None) -> None:
        self.agent_callbacks = callbacks

    def set_agent_callbacks(self, callbacks: AgentCallbacks | None) -> None:
        """Replace the callbacks; what is told from now on reaches the new ones."""
        self.agent_callbacks = callbacks

    def set_session_manager(self, manager: ClientRegistry) -> None:
        """Connect to a manager, as its ``set_client`` does."""
        manager.set_client(self)


class SimpleClient(Client):
    """Prints a session as the seed's client does, a line for each step and tool."""

    def __init__(self, write: Callable[[str], object] = print) -> None:
        self._write = write
        super().__init__(
            AgentCallbacks(
                on_agent_step=self._step,
                on_tool_call_start=self._tool,
                on_tool_execution_end=self._result,
                load_agent_storage=self._load,
            )
        )

    def _step(self, step_index: int, _: Sequence[Message]) -> None:
        self._write(f"🤖 Step {step_index}")

    def _tool(self, call: ToolCall) -> None:
        self._write(f"🔧 Tool: {call.name}")

    def _result(self, name: str, *_: Any) -> None:  # noqa: ANN401  # the row's data
        self._write(f"✅ Result: {name}")

    @staticmethod
    def _load(_: str) -> None:
        """Return None: the manager's own storage is used."""
        return


class V1Client(Protocol):
    """A client of the first version: the two methods that the migration guide shows."""

    def handle_agent_step(self, step_index: int, messages: Sequence[Message]) -> object:
        """Show a step."""
        ...

    def handle_tool_call(self, call: ToolCall) -> object:
        """Show the start of a tool."""
        ...
