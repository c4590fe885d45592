"""A consumer that is slow: each event is in its hands a while before it is looked at.

An engine in lock-step does nothing meanwhile, and one that runs ahead goes on as far as
it can. On virtual time that takes none.
"""

from __future__ import annotations

import asyncio
from typing import Final

from property_tests.given_runs import Events, OtherwiseGivenRun, OtherwiseRunAgent
from refengine.agent import ChatModelAgentConfig
from refengine.plan import OnNotice
from refengine.testing.doors import Engine, EngineAgent

WHILE: Final = 1_000.0
"""So many seconds the consumer is slower than whatever a world waits for."""


class LateEngine:
    """An engine whose events are looked at late."""

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self._engine = engine

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the engine's agent; raises what that raises."""
        agent = await self._engine.build(config, on_notice)
        return OtherwiseRunAgent(agent, _LateRun)


class _LateRun(OtherwiseGivenRun):
    async def events(self, given: Events) -> Events:
        async for event in given:
            await asyncio.sleep(WHILE)
            yield event
