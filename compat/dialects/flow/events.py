"""Events: what a run tells its consumer, and what a session keeps.

An event is a response with an author and with the actions that go with it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from compat.dialects.flow.content import FunctionCall, FunctionResponse
from compat.dialects.flow.model import LlmResponse
from compat.dialects.flow.values import freeze
from refengine.messages import NOTHING, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfirmation:
    """What somebody is asked before a tool runs, and what he said."""

    hint: str = ""
    confirmed: bool = False
    payload: Json = field(default=None, hash=False)

    def __post_init__(self) -> None:
        freeze(self, "payload")


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """What an event does besides saying something.

    ``artifact_delta`` has the version that was saved of each file;
    ``requested_confirmations`` is by the id of the call that waits. A flag that is None
    was not said, which is another thing than False where later calls win.
    """

    state_delta: Mapping[str, Json] = field(default=NOTHING, hash=False)
    artifact_delta: Mapping[str, int] = field(
        default_factory=dict[str, int], hash=False
    )
    requested_confirmations: Mapping[str, ToolConfirmation] = field(
        default_factory=dict[str, ToolConfirmation], hash=False
    )
    skip_summarization: bool | None = None
    transfer_to_agent: str = ""
    escalate: bool | None = None

    def __post_init__(self) -> None:
        freeze(self, "state_delta", "artifact_delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(LlmResponse):
    """One entry of a session, or a partial one, which is told and never kept.

    ``branch`` is the path of agents that a parallel run is in, joined by dots;
    ``timestamp`` is in seconds. ``long_running_ids`` are the calls of it whose results
    come later. Empty ``id``, ``invocation_id`` and ``timestamp`` are filled by the run.
    """

    author: str = ""
    id: str = ""
    invocation_id: str = ""
    branch: str = ""
    timestamp: float = 0.0
    actions: Actions = field(default_factory=Actions)
    long_running_ids: tuple[str, ...] = ()

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The calls in its content, in order."""
        return () if self.content is None else self.content.calls

    @property
    def responses(self) -> tuple[FunctionResponse, ...]:
        """The function responses in its content, in order."""
        return () if self.content is None else self.content.responses


Events: TypeAlias = "AsyncGenerator[Event, None]"
"""Events as they come; who stops reading closes it."""
