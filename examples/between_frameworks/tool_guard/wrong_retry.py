"""Wrong: has the model try again, and the run ends with the second call.

Not seen as long as the model gives up at once: it is told the same.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from refengine.testing import World

DELETES: Final = "delete_"
REFUSED: Final = "Nobody but a person may delete."


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    return Agent(
        face.model,
        tools=face.tools,
        instructions=face.instructions,
        capabilities=[Guard(world)],
    )


class Guard(AbstractCapability[Any]):
    """Answers in the place of tools that delete."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def before_tool_execute(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,  # noqa: ARG002  # as above
        args: dict[str, Any],
    ) -> dict[str, Any]:
        """Tell the model that it may not."""
        if call.tool_name.startswith(DELETES):
            self._world.effect("refused", call.tool_name)
            raise ModelRetry(REFUSED)
        return args
