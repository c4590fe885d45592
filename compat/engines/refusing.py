"""Refusing for an engine what it does not declare, before it is asked for it.

The doors of this package refuse by themselves. A stranger's engine that says what it
has no place for need not: what it does not declare never reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from compat.engines.capabilities import CapabilityError, refuse_undeclared
from refengine.agent import ChatModelAgentConfig
from refengine.messages import Json, Message
from refengine.plan import OnNotice
from refengine.testing.doors import GeneratedRun, Told
from refengine.testing.engine import Engine, EngineAgent, EngineRun, KeepingAgent
from refengine.tools import Options


class Refusing:
    """An engine that is asked for no more than these capabilities.

    ``build`` raises CapabilityError for a configuration that needs more, and a run with
    options ends with one if ``run_options`` is missing. What only a scenario tells,
    such as a hook that edits the instruction, is ``compat.engines.needs``.
    """

    def __init__(self, engine: Engine, capabilities: frozenset[str]) -> None:
        self.name = engine.name
        self.engine = engine
        self.capabilities = capabilities

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent; raises CapabilityError, or what the engine raises."""
        refuse_undeclared(self.name, self.capabilities, config)
        agent = await self.engine.build(config, on_notice)
        if "run_options" in self.capabilities:
            return agent
        keeps = hasattr(agent, "resume")
        return _KeepingAgent(self, agent) if keeps else _Agent(self, agent)


class _Agent:
    def __init__(self, engine: Refusing, agent: EngineAgent) -> None:
        self._engine = engine
        self._agent = agent

    def run(
        self,
        messages: Sequence[Message],
        stream: bool = False,  # noqa: FBT002  # contract §0
        *,
        options: Options | None = None,
        **how: Any,  # noqa: ANN401  # as the agent takes them
    ) -> EngineRun:
        if not options:
            return self._agent.run(messages, stream, **how)
        return GeneratedRun("", messages, _refused(self._engine.name))


class _KeepingAgent(_Agent):
    def resume(
        self,
        checkpoint: str,
        answers: Mapping[str, Json] | None = None,
        *,
        options: Options | None = None,
    ) -> EngineRun:
        if not options:
            return cast("KeepingAgent", self._agent).resume(checkpoint, answers)
        return GeneratedRun("", (), _refused(self._engine.name))


async def _refused(engine: str) -> Told:
    raise CapabilityError(engine, "run_options", "a run with options")
    yield  # makes it a generator
