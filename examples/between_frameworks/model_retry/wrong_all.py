"""Wrong: asks again whatever went wrong.

Not seen as long as nothing else goes wrong.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RetryModelRequest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    return Agent(
        face.model,
        tools=face.tools,
        instructions=face.instructions,
        capabilities=[Retry()],
    )


class Retry(AbstractCapability[Any]):
    """Tries twice."""

    async def on_model_request_error(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        *,
        request_context: ModelRequestContext,
        error: Exception,
    ) -> ModelResponse:
        """Ask again."""
        if request_context.attempt == 1:
            raise RetryModelRequest
        raise error
