"""The door to ``Agent`` of strands-agents.

Each handler becomes a ``Plugin`` of its name, which adds hooks and middleware for just
what the handler has; a struct middleware becomes one that brings its tools. A hook
before the model is a hook event, since those come before all middleware; one behind it
is an ``Output`` of the stage that asks the model, since a hook event there only looks.
Needs the extra ``strands``, when it builds and not before.
"""

from __future__ import annotations

from typing import Final

from compat.engines.capabilities import OF_HOOKS, needs
from compat.engines.frame import AgentOf, FrameworkEngine
from refengine.profile import STRANDS_1

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


def engine(version: str = "") -> FrameworkEngine:
    """Return agents of ``strands.Agent``; ``max_iterations`` is a limit of turns.

    What is not declared has no place there, or is not wired: a tool ends a run only by
    cancelling its agent, arguments that are no object are thrown away, and what waits
    for a person needs an agent that is kept.
    """
    about = "strands", "strands", STRANDS_1, DECLARED
    return FrameworkEngine(*about, _agents, version)


def _agents() -> AgentOf:
    from compat.engines.strands.running import agent_of  # noqa: PLC0415  # an extra

    return agent_of


def installed() -> FrameworkEngine:
    """Return the engine as it is installed; raises MissingExtraError."""
    return engine(needs("strands", "strands", "strands", "strands-agents"))
