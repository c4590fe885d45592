"""The door: what the harness asks of an engine, and the reference engine behind it.

A world gives real objects (model, tools, handlers, struct middlewares). An engine whose
hooks have our shape passes them on; another one wires them to its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.events import AgentEvent
from refengine.messages import Json, Message
from refengine.plan import OnNotice
from refengine.profile import Profile
from refengine.run import RunResult
from refengine.tools import Options


class EngineRun(Protocol):
    """One run in progress: its events, then its outcome."""

    @property
    def outcome(self) -> RunResult | None:
        """How it ended, once it has."""
        ...

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...
    def __aiter__(self) -> AsyncIterator[AgentEvent]: ...


class EngineAgent(Protocol):
    """An agent that an engine built."""

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
    ) -> EngineRun:
        """Start a run; ``options`` are given only where a scenario has some."""
        ...


class KeepingAgent(Protocol):
    """An agent that also keeps runs, and goes on with them."""

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
        checkpoint: str | None = None,
    ) -> EngineRun:
        """Start a run that is kept under a key."""
        ...

    def resume(
        self,
        checkpoint: str,
        answers: Mapping[str, Json] | None = None,
        *,
        options: Options | None = None,
    ) -> EngineRun:
        """Go on with the run of that key; ``answers`` are by the text of addresses."""
        ...


class KeepsNothingError(TypeError):
    """A scenario keeps runs, and the engine's agents cannot."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(
            f"agents of {engine} have no 'resume': play scenarios without 'checkpoint'"
            " and 'resume' on it"
        )


class Engine(Protocol):
    """Something that builds agents."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build an agent, or raise why it cannot be built."""
        ...


class ReferenceEngine:
    """The reference engine under one profile."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.name = f"reference ({profile.name})"

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent under this profile."""
        return await build_agent(config, self.profile, on_notice=on_notice)
