"""The doors to the reference engine: as it is, and as the interface before it was."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from compat.engines.capabilities import CAPABILITIES, OF_HOOKS, refuse_undeclared
from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.plan import OnNotice
from refengine.profile import EINO_0_7, SEED_001, Profile
from refengine.testing.doors import EngineAgent

OF_HANDLERS: Final = OF_HOOKS | {"edited_config", "streamed_model_wraps"}
"""Capabilities of handlers, which the interface before the refactor did not have."""


class ReferenceDoor:
    """The reference engine under one profile, with all that there is."""

    capabilities = frozenset(CAPABILITIES)
    version = version("refengine")

    def __init__(self, profile: Profile = SEED_001) -> None:
        self.profile = profile
        self.name = f"reference ({profile.name})"

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent under this profile."""
        return await build_agent(config, self.profile, on_notice=on_notice)


class LegacyDoor:
    """The interface before the refactor: struct middlewares and tools config only."""

    name = "reference-legacy"
    profile = EINO_0_7
    capabilities = frozenset(CAPABILITIES) - OF_HANDLERS
    version = version("refengine")

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent; raises CapabilityError if it has handlers."""
        refuse_undeclared(self.name, self.capabilities, config)
        return await build_agent(config, self.profile, on_notice=on_notice)
