"""The door to ``Agent`` and ``Runner`` of openai-agents.

A handler becomes the hooks of the agent and the filter of what its model is shown; an
agent has one of each, so there can be no second handler. Needs the extra
``openai-agents``, when it builds and not before.
"""

from __future__ import annotations

from typing import Final

from compat.engines.capabilities import needs, of_extra, refuse_undeclared
from refengine.agent import ChatModelAgentConfig
from refengine.plan import OnNotice
from refengine.profile import OPENAI_AGENTS_0
from refengine.testing.doors import EngineAgent

DECLARED: Final = frozenset(
    (
        "before_agent",
        "before_model",
        "after_agent",
        "parallel_calls",
        "concurrent_calls",
        "sequential",
        "return_directly",
        "streaming",
        "edited_config",
        "run_locals",
        "arguments_text",
        "failed_history",
        "lock_step",
    )
)


class OpenAIAgentsEngine:
    """Builds agents of openai-agents; ``max_iterations`` is ``max_turns``.

    What is not declared has no place there: nothing stands around a request or a call,
    what follows an answer only looks, and only a call can wait for a person.
    """

    name = "openai-agents"
    profile = OPENAI_AGENTS_0
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
        with of_extra(self.name, "openai-agents"):
            from compat.engines.openai_agents.running import agent_of  # noqa: PLC0415  # an extra
        return agent_of(self.name, config)


def installed() -> OpenAIAgentsEngine:
    """Return the engine as it is installed; raises MissingExtraError."""
    package = "openai-agents"
    return OpenAIAgentsEngine(needs(package, package, "agents", package))
