"""Runs whose consumer is given other events, later ones, or another result.

What looks at a run from outside, or is wrong only there, stands around it like this.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self, TypeAlias

from refengine.events import AgentEvent
from refengine.run import RunResult
from refengine.testing.doors import EngineRun

Events: TypeAlias = AsyncIterator[AgentEvent]


class OtherwiseGivenRun:
    """A run of which the consumer is given something else, or nothing else."""

    def __init__(self, run: EngineRun) -> None:
        self._run = run

    async def events(self, given: Events) -> Events:
        """Yield the events that the consumer is given."""
        async for event in given:
            yield event

    def result(self, outcome: RunResult) -> RunResult | None:
        """Return the result that the consumer is given."""
        return outcome

    @property
    def outcome(self) -> RunResult | None:
        """How it ended, once it has."""
        outcome = self._run.outcome
        return None if outcome is None else self.result(outcome)

    async def __aenter__(self) -> Self:
        self._run = await self._run.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        await self._run.__aexit__(kind, error, trace)

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return self.events(self._run.__aiter__())


class OtherwiseRunAgent:
    """An agent of any shape that engines have, each of whose runs is made another."""

    def __init__(self, agent: Any, made: Callable[[EngineRun], EngineRun]) -> None:  # noqa: ANN401  # of any shape
        self.agent = agent
        self.made = made

    def run(self, *given: Any, **how: Any) -> EngineRun:  # noqa: ANN401  # as the agent takes them
        """Start a run of the agent."""
        return self.made(self.agent.run(*given, **how))
