"""Shows the model the end of a long history: before each request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestContext

from refengine.testing import World

TURNS: Final = 3
"""So many messages of the user are shown, with what follows each."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    return Agent(
        face.model,
        tools=face.tools,
        instructions=face.instructions,
        capabilities=[Trim()],
    )


class Trim(AbstractCapability[Any]):
    """Shows the last turns; all are kept."""

    async def before_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Show the end of the history."""
        return replace(request_context, messages=shown(request_context.messages))


def shown(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Return the last turns; each begins with a part of a request."""
    parts = [
        (at, place)
        for at, each in enumerate(messages)
        if isinstance(each, ModelRequest)
        for place, part in enumerate(each.parts)
        if isinstance(part, UserPromptPart)
    ]
    if len(parts) <= TURNS:
        return messages
    at, place = parts[-TURNS]
    first = messages[at]
    return [replace(first, parts=first.parts[place:]), *messages[at + 1 :]]
