"""Wrong: a wrapper calls its handler twice, which is refused.

Not seen as long as the line holds.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
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

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        """Ask, and ask again."""
        try:
            return await handler(request_context)
        except ConnectionError:
            return await handler(request_context)
