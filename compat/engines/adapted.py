"""The reference engine with its struct middlewares adapted (contract COMPAT)."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

from compat.adapters import adapt
from compat.engines.capabilities import CAPABILITIES
from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.plan import OnNotice
from refengine.profile import SEED_001, Profile
from refengine.testing.doors import EngineAgent


class AdaptedEngine:
    """The door to the reference engine that takes adapted structs first.

    It builds ``handlers=[*adapt(middlewares, profile), *handlers]`` and leaves
    ``middlewares=`` empty, as a caller does who moves to handlers. Nothing is said of
    which list is used, because only one is.
    """

    capabilities = frozenset(CAPABILITIES)
    version = version("refengine")

    def __init__(self, profile: Profile = SEED_001) -> None:
        self.profile = replace(
            profile, both_lists="silent", struct_middleware="supported"
        )
        self.name = f"reference, structs adapted ({profile.name})"

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent under this profile; raises what ``adapt`` refuses."""
        handlers = [*adapt(config.middlewares, self.profile), *config.handlers]
        adapted = replace(config, middlewares=(), handlers=handlers)
        return await build_agent(adapted, self.profile, on_notice=on_notice)
