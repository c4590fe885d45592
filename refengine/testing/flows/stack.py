"""What a framework offers for playing its agents: sessions, runs, and what is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from refengine.messages import Json, Message
from refengine.testing.flows.events import FlowEvent, FlowResponse, StoredSession

Said: TypeAlias = "str | Sequence[FlowResponse]"
"""What a user says: a text, or answers to what was asked."""


@dataclass(frozen=True, slots=True)
class FlowRequest:
    """One message of the user: to which session, with which state, and how to answer.

    ``calls`` is how many model calls a run may make.
    """

    session: str
    said: Said
    state: Mapping[str, Json]
    streaming: bool
    calls: int


class FlowStack(Protocol):
    """Agents and services of one framework, ready to be played."""

    @property
    def hooks(self) -> Mapping[str, int]:
        """How often each hook of the subject ran; those that never did are there."""
        ...

    @property
    def answered(self) -> tuple[type[BaseException], ...]:
        """Errors of the framework that say something of what a subject did."""
        ...

    async def begin(self, session: str, state: Mapping[str, Json]) -> None:
        """Create a session with this state."""
        ...

    async def remember(self, session: str, message: Message) -> None:
        """Put a message into a session that was said before it was played."""
        ...

    def run(self, request: FlowRequest) -> AsyncIterator[FlowEvent]:
        """Answer a message; an exception ends the run."""
        ...

    async def stored(self, session: str) -> StoredSession:
        """Return what is kept of a session."""
        ...

    async def close(self) -> None:
        """Let plugins and toolsets end; an exception is one of theirs."""
        ...
