"""The door to ``Agent`` of pydantic-ai 2.

Each handler becomes a ``Hooks`` with just its hooks, a struct middleware a capability
with its tools. Hooks before and after the model are hooks around the node that asks it:
a ``wrap_model_request`` stands around ``before_model_request``, so only there do they
come before all wrappers, and are they shown what follows a response. Needs the extra
``pydantic-ai``, when it builds and not before.
"""

from __future__ import annotations

from typing import Final

from compat.engines.capabilities import OF_HOOKS, needs
from compat.engines.frame import AgentOf, FrameworkEngine
from refengine.profile import PYDANTIC_AI_2

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


def engine(version: str = "") -> FrameworkEngine:
    """Return agents of ``pydantic_ai.Agent``; ``max_iterations`` is a request limit.

    What is not declared has no place there: no tool's result ends a run, only an output
    tool's does; an answer whose calls have equal ids is an error; ``before_run`` only
    looks; only a tool call can wait for a person, where any hook of a kept run may.
    """
    about = "pydantic-ai", "pydantic-ai", PYDANTIC_AI_2, DECLARED
    return FrameworkEngine(*about, _agents, version)


def _agents() -> AgentOf:
    from compat.engines.pydantic_ai.running import agent_of  # noqa: PLC0415  # an extra

    return agent_of


def installed() -> FrameworkEngine:
    """Return the engine as it is installed; raises MissingExtraError."""
    return engine(
        needs("pydantic-ai", "pydantic-ai", "pydantic_ai", "pydantic-ai-slim")
    )
