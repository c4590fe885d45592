"""Runs no tool that deletes: a hook before each call, which may skip it."""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import SkipToolExecution
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
        capabilities=[guard(world)],
    )


def guard(world: World) -> Hooks[Any]:
    """Return what answers in the place of tools that delete."""
    hooks = Hooks[Any]()

    @hooks.on.before_tool_execute
    async def refuse(
        ctx: RunContext[Any],  # noqa: ARG001  # as Hooks has it
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,  # noqa: ARG001  # as above
        args: dict[str, Any],
    ) -> dict[str, Any]:
        if call.tool_name.startswith(DELETES):
            world.effect("refused", call.tool_name)
            raise SkipToolExecution(REFUSED)
        return args

    return hooks
