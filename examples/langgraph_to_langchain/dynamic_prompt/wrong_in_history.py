"""Wrong: the instruction is one more message of the history, behind the user's.

A model that is scripted answers the same. A real one is sent its instruction last, at
the second call twice, and in a later turn with all those of the turns before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentState, before_model
from langchain_core.messages import SystemMessage
from langgraph.runtime import Runtime

from refengine.testing import World

LONG: Final = 5
"""From so many messages on, answers are to be short."""


@dataclass(frozen=True)
class Who:
    """Who is asking."""

    user_name: str = "a guest"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    @before_model
    def prompt(state: AgentState[Any], runtime: Runtime[Who]) -> dict[str, Any]:
        lines = [
            *([lc.system_prompt] if lc.system_prompt else []),
            f"You speak with {runtime.context.user_name}.",
            f"The clock says {world.now():.3f}.",
        ]
        if len(state["messages"]) >= LONG:
            lines.append("Be brief.")
        return {"messages": [SystemMessage("\n".join(lines))]}

    return create_agent(lc.model, lc.tools, middleware=[prompt], context_schema=Who)
