"""The door to a Flow engine: what a world is wired to, and what comes back.

A door opens a world once. What it opened keeps sessions and artifacts as long as the
world is played, and makes runners over them, several if a turn asks for a fresh one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from compat.dialects.flow.content import Content
from compat.dialects.flow.events import Event
from compat.dialects.flow.profile import FlowProfile
from compat.engines.dialect_loading import DialectEngine
from compat.engines.flow.world import FlowWorld
from refengine.messages import Json


@dataclass(frozen=True, slots=True)
class KeptSession:
    """What a session service has of a session: events, state of all scopes, files.

    ``artifacts`` has the text of each version of a file.
    """

    events: tuple[Event, ...] = ()
    state: Mapping[str, Json] = field(default_factory=dict[str, Json])
    artifacts: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )


class FlowRunner(Protocol):
    """A runner of an engine over the agents and plugins of a world."""

    def run(
        self, user_id: str, session_id: str, content: Content, *, stream: bool
    ) -> AsyncGenerator[Event, None]:
        """Yield the events that a message leads to; an error ends the run."""
        ...

    async def close(self) -> None:
        """Have the plugins close."""
        ...


class OpenedWorld(Protocol):
    """A world on an engine: its services, and runners over them."""

    async def create(
        self,
        user_id: str,
        session_id: str,
        state: Mapping[str, Json],
        artifacts: Mapping[str, str],
    ) -> None:
        """Make a session with that state and one version of each file."""
        ...

    def runner(self) -> FlowRunner:
        """Build agents, plugins and a runner; raises what building them raises."""
        ...

    async def kept(self, user_id: str, session_id: str) -> KeptSession:
        """Load a session afresh from where it is kept."""
        ...


class FlowEngine(DialectEngine, Protocol):
    """An engine of the Flow dialect, as the harness drives it."""

    @property
    def profile(self) -> FlowProfile:
        """The profile that says what it does where versions differ."""
        ...

    def open(self, world: FlowWorld) -> OpenedWorld:
        """Make the services of a world, and what makes its runners."""
        ...
