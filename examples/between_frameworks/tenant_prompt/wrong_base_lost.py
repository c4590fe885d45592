"""Wrong: the agent's own instruction is left out.

Not seen as long as it has none.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai import Agent, RunContext

from refengine.testing import World

LINE: Final = "You speak for {}."


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    return Agent(
        face.model, tools=face.tools, instructions=line, deps_type=dict[str, Any]
    )


def line(ctx: RunContext[Any]) -> str:
    """Return the line."""
    return LINE.format((ctx.deps or {}).get("tenant", "everybody"))
