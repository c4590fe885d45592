"""Wrong: a dynamic prompt stands in the place of the static one, not behind it.

Where the agent has no instruction of its own, nothing is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, dynamic_prompt

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

    @dynamic_prompt
    def prompt(request: ModelRequest[Who]) -> str:
        asking = request.runtime.context.user_name
        lines = [f"You speak with {asking}.", f"The clock says {world.now():.3f}."]
        if len(request.messages) >= LONG:
            lines.append("Be brief.")
        return "\n".join(lines)

    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[prompt],
        context_schema=Who,
    )
