"""Tells the model for whom it speaks: instructions that are asked for anew."""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability

from refengine.testing import World

LINE: Final = "You speak for {}."


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    return Agent(
        face.model,
        tools=face.tools,
        instructions=face.instructions,
        capabilities=[Tenant()],
        deps_type=dict[str, Any],
    )


class Tenant(AbstractCapability[Any]):
    """Says one more line."""

    def get_instructions(self) -> Any:  # noqa: ANN401  # the framework's own union
        """Return what is asked for each request."""
        return line


def line(ctx: RunContext[Any]) -> str:
    """Return the line."""
    return LINE.format((ctx.deps or {}).get("tenant", "everybody"))
