"""The door to ``Agent`` of strands-agents.

Each handler becomes a ``Plugin`` of its name, which adds hooks and middleware for just
what the handler has; a struct middleware becomes one that brings its tools. A hook
before the model is a hook event, since those come before all middleware; one behind it
is an ``Output`` of the stage that asks the model, since a hook event there only looks.
Needs the extra ``strands``, when it builds and not before.
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
from refengine.profile import STRANDS_1
from refengine.testing.doors import EngineAgent

DECLARED: Final = (OF_HOOKS - {"wrap_streamable", "adapted_structs"}) | {
    "struct_tools",
    "parallel_calls",
    "equal_call_ids",
    "concurrent_calls",
    "sequential",
    "streaming",
    "edited_config",
    "several_handlers",
    "next_twice",
    "run_locals",
    "lone_surrogates",
    "failed_history",
    "lock_step",
}


class StrandsEngine:
    """Builds agents with ``strands.Agent``; ``max_iterations`` is a limit of turns.

    What is not declared has no place there, or is not wired: a tool ends a run only by
    cancelling its agent, arguments that are no object are thrown away, and what waits
    for a person needs an agent that is kept.
    """

    name = "strands"
    profile = STRANDS_1
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
        with of_extra(self.name, "strands"):
            from compat.engines.strands.running import agent_of  # noqa: PLC0415  # an extra
        return agent_of(self.name, config)


def installed() -> StrandsEngine:
    """Return the engine as it is installed; raises MissingExtraError."""
    return StrandsEngine(needs("strands", "strands", "strands", "strands-agents"))
