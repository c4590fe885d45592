"""Wrong: looks at the call once the tool ran.

Not seen in what the model is told, which is the same.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
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

    async def after_tool_execute(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,  # noqa: ARG002  # as above
        args: dict[str, Any],  # noqa: ARG002  # as above
        result: Any,  # noqa: ANN401  # whatever a tool gives
    ) -> Any:  # noqa: ANN401  # as above
        """Hide what the tool gave."""
        if not call.tool_name.startswith(DELETES):
            return result
        self._world.effect("refused", call.tool_name)
        return REFUSED
