"""The door to ``Agent`` and ``Runner`` of openai-agents.

A handler becomes the hooks of the agent and the filter of what its model is shown; an
agent has one of each, so there can be no second handler. Needs the extra
``openai-agents``, when it builds and not before.
"""

from __future__ import annotations

from typing import Final

from compat.engines.capabilities import needs
from compat.engines.frame import AgentOf, FrameworkEngine
from refengine.profile import OPENAI_AGENTS_0

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


def engine(version: str = "") -> FrameworkEngine:
    """Return agents of openai-agents; ``max_iterations`` is ``max_turns``.

    What is not declared has no place there: nothing stands around a request or a call,
    what follows an answer only looks, and only a call can wait for a person.
    """
    about = "openai-agents", "openai-agents", OPENAI_AGENTS_0, DECLARED
    return FrameworkEngine(*about, _agents, version)


def _agents() -> AgentOf:
    from compat.engines.openai_agents.running import agent_of  # noqa: PLC0415  # an extra

    return agent_of


def installed() -> FrameworkEngine:
    """Return the engine as it is installed; raises MissingExtraError."""
    return engine(needs("openai-agents", "openai-agents", "agents", "openai-agents"))
