"""Wrong: an answer that calls a tool is replaced with its calls.

Not seen as long as the model says nothing beside its calls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models import ModelRequestContext

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

    async def after_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        *,
        request_context: ModelRequestContext,  # noqa: ARG002  # as above
        response: ModelResponse,
    ) -> ModelResponse:
        """Look at what the model says."""
        if HIDDEN in (response.text or ""):
            return replace(response, parts=[TextPart(INSTEAD)])
        return response
