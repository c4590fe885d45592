"""The door to sessions with callbacks: what a world is wired to."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol

from compat.dialects.callbacks import AgentCallbacks, CallbacksProfile, SessionClient
from compat.engines.callbacks.world import CallbacksWorld
from compat.engines.dialect_loading import DialectEngine


class OpenedSessions(Protocol):
    """An agent and its session manager over the model, tools and store of a world."""

    def set_client(self, client: SessionClient) -> None:
        """Connect a client; what is told it is read from its ``agent_callbacks``."""
        ...

    def remove_client(self, client: SessionClient) -> object:
        """Take a client away."""
        ...

    def set_callbacks(self, callbacks: AgentCallbacks) -> object:
        """Set the external listener."""
        ...

    async def run(self, session_id: str, *texts: str) -> Any:  # noqa: ANN401  # its result's attributes are read
        """Play a session; the result has ``status``, ``answer`` and ``state``."""
        ...

    def stream(self, session_id: str, *texts: str) -> AsyncGenerator[Any, None]:
        """Play a session and yield its facts, each with ``name`` and ``data``."""
        ...

    async def emit(self, name: str, *data: object) -> object:
        """Tell a fact of a type of one's own."""
        ...

    async def stored(self, session_id: str) -> Any:  # noqa: ANN401  # a state, by attributes
        """Return what is stored of a session, None if nothing is."""
        ...

    def manage(self) -> object:
        """Make a second manager for the agent; raises if it is refused."""
        ...


class CallbacksEngine(DialectEngine, Protocol):
    """Sessions with callbacks, as the harness drives them."""

    @property
    def profile(self) -> CallbacksProfile:
        """The profile that says what it does where versions differ."""
        ...

    def open(self, world: CallbacksWorld) -> OpenedSessions:
        """Make an agent and its manager; again after a restart, over what is stored."""
        ...
