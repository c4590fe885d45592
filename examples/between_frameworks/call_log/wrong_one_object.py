"""Wrong: the functions of one Hooks run in the order in which they stand there.

Two capabilities, as two middlewares, are asked from the end of the list.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks
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
        capabilities=[watched(world)],
    )


def watched(world: World) -> Hooks[Any]:
    """Return what logs, and then counts."""
    hooks = Hooks[Any]()

    @hooks.on.before_model_request
    async def ask(
        ctx: RunContext[Any],  # noqa: ARG001  # as Hooks has it
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        messages = sum(map(counted, request_context.messages))
        world.effect("asked", {"messages": messages})
        return request_context

    @hooks.on.after_model_request
    async def log(
        ctx: RunContext[Any],  # noqa: ARG001  # as above
        *,
        request_context: ModelRequestContext,  # noqa: ARG001  # as above
        response: ModelResponse,
    ) -> ModelResponse:
        names = [each.tool_name for each in response.tool_calls]
        world.effect("answered", {"calls": names})
        return response

    @hooks.on.after_model_request
    async def meter(
        ctx: RunContext[Any],  # noqa: ARG001  # as above
        *,
        request_context: ModelRequestContext,  # noqa: ARG001  # as above
        response: ModelResponse,
    ) -> ModelResponse:
        world.effect("metered", 1)
        return response

    return hooks


def counted(message: ModelMessage) -> int:
    """Return how many messages this one is elsewhere, where none holds several."""
    return len(message.parts) if isinstance(message, ModelRequest) else 1
