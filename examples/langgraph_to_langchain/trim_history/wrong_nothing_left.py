"""Wrong: where no user speaks in the end of the history, the model sees nothing.

The older agent then showed everything: an empty list was as good as none.
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
        return handler(request.override(messages=shown(request.messages)))

    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show the end of the history."""
        return await handler(request.override(messages=shown(request.messages)))


def shown(messages: list[Any]) -> list[Any]:
    """Return the end of the history, from a message of the user on."""
    return trim_messages(
        messages,
        strategy="last",
        token_counter=len,
        max_tokens=KEEP,
        start_on="human",
    )
