"""Wrong: the count is the capability's own, and all runs share it.

Not seen as long as an agent has one run.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import SkipModelRequest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models import ModelRequestContext

from refengine.testing import World

CALLS: Final = 3
SPENT: Final = f"Model call limits exceeded: run limit ({CALLS}/{CALLS})"


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    return Agent(
        face.model,
        tools=face.tools,
        instructions=face.instructions,
        capabilities=[Budget()],
    )


class Budget(AbstractCapability[Any]):
    """Answers itself once the model was asked so often in a run."""

    def __init__(self) -> None:
        self._asked = 0

    async def before_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Let the model be asked, or answer."""
        self._asked += 1
        if self._asked > CALLS:
            raise SkipModelRequest(ModelResponse([TextPart(SPENT)]))
        return request_context
