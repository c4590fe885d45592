"""Writes the instruction anew for each model call: a class that adds to one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import SystemMessage

from refengine.testing import World

LONG: Final = 5
"""From so many messages on, answers are to be short."""


@dataclass(frozen=True)
class Who:
    """Who is asking."""

    user_name: str = "a guest"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[Situation(world)],
        context_schema=Who,
    )


class Situation(AgentMiddleware[AgentState[Any], Who]):
    """Adds who is asking, and when, to the instruction."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def wrap_model_call(
        self,
        request: ModelRequest[Who],
        handler: Callable[[ModelRequest[Who]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Add to this request's instruction."""
        return handler(self._told(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Who],
        handler: Callable[[ModelRequest[Who]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Add to this request's instruction."""
        return await handler(self._told(request))

    def _told(self, request: ModelRequest[Who]) -> ModelRequest[Who]:
        lines = [request.system_prompt] if request.system_prompt else []
        lines.append(f"You speak with {request.runtime.context.user_name}.")
        lines.append(f"The clock says {self._world.now():.3f}.")
        if len(request.messages) >= LONG:
            lines.append("Be brief.")
        return request.override(system_message=SystemMessage("\n".join(lines)))
