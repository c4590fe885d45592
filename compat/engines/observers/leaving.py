"""A session whose consumer leaves its runs, as one that has read enough does.

    scenario = ObservedScenario.model_validate_json('{…, "leaves": 1}')
    left_by(engine, scenario.leaves)    # the engine, whose runs are left so

Nothing is cancelled: the consumer reads no more events, and closes the run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from pydantic import PositiveInt

from refengine.agent import ChatModelAgentConfig
from refengine.events import AgentEvent
from refengine.messages import Message
from refengine.plan import OnNotice
from refengine.run import RunResult
from refengine.testing.doors import Engine, EngineAgent, EngineRun
from refengine.testing.scenario import Scenario
from refengine.tools import Options


class ObservedScenario(Scenario):
    """A session of observed agents.

    Of each run its consumer reads so many events as ``leaves`` says, all by default.
    """

    leaves: PositiveInt | None = None


@dataclass(frozen=True, slots=True)
class LeftRun:
    """A run of which so many events are read."""

    run: EngineRun
    events: int

    @property
    def outcome(self) -> RunResult | None:
        """How it ended, once it has."""
        return self.run.outcome

    async def __aenter__(self) -> Self:
        await self.run.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        await self.run.__aexit__(kind, error, trace)

    async def __aiter__(self) -> AsyncIterator[AgentEvent]:
        read = 0
        async for event in self.run:
            yield event
            read += 1
            if read == self.events:
                return


@dataclass(frozen=True, slots=True)
class LeftAgent:
    """An agent whose runs are left."""

    agent: EngineAgent
    events: int

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
    ) -> EngineRun:
        """Start a run."""
        more = {} if options is None else {"options": options}
        return LeftRun(self.agent.run(messages, stream, **more), self.events)


@dataclass(frozen=True, slots=True)
class LeftEngine:
    """An engine whose runs are left."""

    engine: Engine
    events: int

    @property
    def name(self) -> str:
        """The engine's."""
        return self.engine.name

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build an agent."""
        return LeftAgent(await self.engine.build(config, on_notice), self.events)


def left_by(engine: Engine, events: int | None) -> Engine:
    """Return the engine whose runs are left behind so many events; None for never."""
    return engine if events is None else LeftEngine(engine, events)
