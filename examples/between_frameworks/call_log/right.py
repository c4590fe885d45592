"""Logs what the model is asked and answers, and meters it: two capabilities."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestContext

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    face = world.as_pydantic_ai()
    return Agent(
        face.model,
        tools=face.tools,
        instructions=face.instructions,
        capabilities=[Log(world), Meter(world)],
    )


class Log(AbstractCapability[Any]):
    """Logs what the model is asked, and what it answers."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def before_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Log the question."""
        messages = sum(map(counted, request_context.messages))
        self._world.effect("asked", {"messages": messages})
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        *,
        request_context: ModelRequestContext,  # noqa: ARG002  # as above
        response: ModelResponse,
    ) -> ModelResponse:
        """Log the answer."""
        names = [each.tool_name for each in response.tool_calls]
        self._world.effect("answered", {"calls": names})
        return response


class Meter(AbstractCapability[Any]):
    """Counts answers."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def after_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  # as AbstractCapability has it
        *,
        request_context: ModelRequestContext,  # noqa: ARG002  # as above
        response: ModelResponse,
    ) -> ModelResponse:
        """Count one more."""
        self._world.effect("metered", 1)
        return response


def counted(message: ModelMessage) -> int:
    """Return how many messages this one is elsewhere, where none holds several."""
    return len(message.parts) if isinstance(message, ModelRequest) else 1
