"""The door to ``Agent`` of pydantic-ai 2.

Each handler becomes a ``Hooks`` with just its hooks, a struct middleware a capability
with its tools. Hooks before and after the model are hooks around the node that asks it:
a ``wrap_model_request`` stands around ``before_model_request``, so only there do they
come before all wrappers, and are they shown what follows a response. Needs the extra
``pydantic-ai``, when it builds and not before.
"""

from __future__ import annotations

from typing import Final

from compat.engines.capabilities import (
    OF_HOOKS,
    needs,
    of_extra,
    refuse_undeclared,
)
from refengine.agent import ChatModelAgentConfig
from refengine.plan import OnNotice
from refengine.profile import PYDANTIC_AI_2
from refengine.testing.doors import EngineAgent

DECLARED: Final = (OF_HOOKS - {"wrap_streamable", "adapted_structs"}) | {
    "struct_tools",
    "parallel_calls",
    "concurrent_calls",
    "sequential",
    "streaming",
    "several_handlers",
    "next_twice",
    "run_locals",
    "lone_surrogates",
    "failed_history",
    "lock_step",
}


class PydanticAIEngine:
    """Builds agents with ``pydantic_ai.Agent``; ``max_iterations`` is a request limit.

    What is not declared has no place there: no tool's result ends a run, only an output
    tool's does; an answer whose calls have equal ids is an error; ``before_run`` only
    looks; only a tool call can wait for a person, where any hook of a kept run may.
    """

    name = "pydantic-ai"
    profile = PYDANTIC_AI_2
    capabilities = DECLARED

    def __init__(self, version: str = "") -> None:
        self.version = version

    async def build(
        self, config: ChatModelAgentConfig, on_notice: OnNotice
    ) -> EngineAgent:
        """Build the agent.

        Raises MissingExtraError, CapabilityError, or what the framework refuses.
        """
        del on_notice  # the framework says nothing beside its messages
        refuse_undeclared(self.name, self.capabilities, config)
        with of_extra(self.name, "pydantic-ai"):
            from compat.engines.pydantic_ai.running import agent_of  # noqa: PLC0415  # an extra
        return agent_of(self.name, config)


def installed() -> PydanticAIEngine:
    """Return the engine as it is installed; raises MissingExtraError."""
    package = "pydantic_ai"
    return PydanticAIEngine(
        needs("pydantic-ai", "pydantic-ai", package, "pydantic-ai-slim")
    )
