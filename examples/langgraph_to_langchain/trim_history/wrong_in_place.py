"""Wrong: the list of the request is shortened, and it is the list of the state.

The run goes on with what is left of it, and the model sees the same.
"""

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
from langchain_core.messages import trim_messages

from refengine.testing import World

KEEP: Final = 6
"""So many messages are shown, the instruction aside."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[Trim()]
    )


class Trim(AgentMiddleware[AgentState[Any]]):
    """Shows the last messages, from one of the user on; all are kept."""

    def wrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Show the end of the history."""
        forget(request.messages)
        return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show the end of the history."""
        forget(request.messages)
        return await handler(request)


def forget(messages: list[Any]) -> None:
    """Remove all but the end of the history, if a user speaks in it."""
    end = trim_messages(
        messages,
        strategy="last",
        token_counter=len,
        max_tokens=KEEP,
        start_on="human",
    )
    messages[:] = end or messages
