"""Shows the model the end of a long history: around each model call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import AnyMessage, HumanMessage

from refengine.testing import World

TURNS: Final = 3
"""So many messages of the user are shown, with what follows each."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[Trim()]
    )


class Trim(AgentMiddleware[AgentState[Any]]):
    """Shows the last turns; all are kept."""

    def wrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Show the end of the history."""
        return handler(request.override(messages=shown(request.messages)))

    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show the end of the history."""
        return await handler(request.override(messages=shown(request.messages)))


def shown(messages: list[AnyMessage]) -> list[AnyMessage]:
    """Return the last turns."""
    said = [at for at, each in enumerate(messages) if isinstance(each, HumanMessage)]
    return messages[said[-TURNS] :] if len(said) > TURNS else messages
