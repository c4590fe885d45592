"""The reference engine with its struct middlewares adapted (contract COMPAT)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import TypeAlias

from compat.adapters import adapt
from compat.engines.capabilities import CAPABILITIES
from refengine.agent import ChatModelAgentConfig, build_agent
from refengine.plan import OnNotice
from refengine.profile import SEED_001, Profile
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.doors import EngineAgent

Adapt: TypeAlias = Callable[[Sequence[AgentMiddleware], Profile], Sequence[object]]
"""Makes handlers of struct middlewares."""


class AdaptedEngine:
    """The door to the reference engine that takes adapted structs first.

    It builds ``handlers=[*adapt(middlewares, profile), *handlers]`` and leaves
    ``middlewares=`` empty, as a caller does who moves to handlers. Nothing is said of
    which list is used, because only one is.
    """

    capabilities = frozenset(CAPABILITIES)
    version = version("refengine")

    def __init__(self, profile: Profile = SEED_001) -> None:
        self.profile = quiet(profile)
        self.name = f"reference, structs adapted ({profile.name})"

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent under this profile; raises what ``adapt`` refuses."""
        adapted = with_handlers(config, adapt, self.profile)
        return await build_agent(adapted, self.profile, on_notice=on_notice)


def with_handlers(
    config: ChatModelAgentConfig, adapter: Adapt, profile: Profile
) -> ChatModelAgentConfig:
    """Return the configuration with its structs as an adapter makes handlers of them.

    They stand before the handlers. Raises what the adapter refuses.
    """
    handlers = [*adapter(config.middlewares, profile), *config.handlers]
    return replace(config, middlewares=(), handlers=handlers)


def quiet(profile: Profile) -> Profile:
    """Return the profile without its warnings about which of the two lists is used.

    An adapter moves structs to the other list, which is what those warnings ask for.
    """
    return replace(profile, both_lists="silent", struct_middleware="supported")
