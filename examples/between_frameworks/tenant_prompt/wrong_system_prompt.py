"""Wrong: a system prompt is part of the history, and a later turn has the first one.

Not seen as long as a caller stays who he is, and gives no history.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai import Agent, RunContext

from refengine.testing import World

LINE: Final = "You speak for {}."


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    agent: Agent[Any, str] = Agent(
        face.model,
        tools=face.tools,
        system_prompt=face.instructions or (),
        deps_type=dict[str, Any],
    )
    agent.system_prompt(line)
    return agent


def line(ctx: RunContext[Any]) -> str:
    """Return the line."""
    return LINE.format((ctx.deps or {}).get("tenant", "everybody"))
