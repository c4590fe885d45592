"""Wrong: what the run returns is another text, and its messages keep the answer.

Not seen until the history is shown, or a later turn is given it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.run import AgentRunResult

from refengine.testing import World

HIDDEN: Final = "internal"
INSTEAD: Final = "I may not say that."


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    return Agent(
        face.model,
        tools=face.tools,
        instructions=face.instructions,
        capabilities=[Guard()],
    )


class Guard(AbstractCapability[Any]):
    """Says something else."""

    async def after_run(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        *,
        result: AgentRunResult[Any],
    ) -> AgentRunResult[Any]:
        """Look at what the run comes to."""
        return replace(result, output=INSTEAD) if HIDDEN in result.output else result
