"""Doors to engines that are wrong without a patch: outside of the reference engine.

Some faults are the right engine under another posture or configuration. Others are in
what the consumer is given of a run: its events and its result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from property_tests.given_runs import OtherwiseGivenRun, OtherwiseRunAgent
from property_tests.mutants.mutant import Door
from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.plan import OnNotice
from refengine.profile import Profile, choosing
from refengine.run import RunResult
from refengine.testing.doors import EngineAgent, EngineRun, ReferenceEngine

Build: TypeAlias = Callable[
    [ChatModelAgentConfig, Profile, OnNotice], Awaitable[EngineAgent]
]
Configure: TypeAlias = Callable[[ChatModelAgentConfig], ChatModelAgentConfig]
HandBack: TypeAlias = Callable[[RunResult], RunResult | None]


def under(posture: str, option: str) -> Door:
    """Return the door to the right engine under another posture than it says."""
    return lambda profile: ReferenceEngine(choosing(profile, posture, option))


def built(build: Build) -> Door:
    """Return the door to an engine that builds agents so."""
    return lambda profile: OtherwiseBuilt(profile, build)


def configured(change: Configure) -> Door:
    """Return the door to the right engine, whose agents are configured otherwise."""
    return built(
        lambda config, profile, on_notice: build_agent(
            change(config), profile, on_notice=on_notice
        )
    )


def handing_back(change: HandBack) -> Door:
    """Return the door to the right engine, whose runs hand another result back."""

    class Changed(OtherwiseGivenRun):
        """A run with another result."""

        def result(self, outcome: RunResult) -> RunResult | None:
            """Return the changed result."""
            return change(outcome)

    return giving(Changed)


def giving(kind: type[OtherwiseGivenRun]) -> Door:
    """Return the door to the right engine, whose runs are such ones."""

    async def build(
        config: ChatModelAgentConfig, profile: Profile, on_notice: OnNotice
    ) -> EngineAgent:
        agent = await build_agent(config, profile, on_notice=on_notice)
        return _KeepingAgent(agent, kind)

    return built(build)


class OtherwiseBuilt:
    """The reference engine, with another way to build an agent."""

    def __init__(self, profile: Profile, build: Build) -> None:
        self.name = f"otherwise built ({profile.name})"
        self.profile = profile
        self._build = build

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent in that way."""
        return await self._build(config, self.profile, on_notice)


class _KeepingAgent(OtherwiseRunAgent):
    def resume(self, *given: Any, **how: Any) -> EngineRun:  # noqa: ANN401  # as run
        return self.made(self.agent.resume(*given, **how))
