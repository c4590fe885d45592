"""Withholds what must not be said, then logs what was: around the model call."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import AIMessage, BaseMessage

from refengine.testing import World

SECRET: Final = re.compile(r"sk-[a-z0-9]{4,}")
WITHHELD: Final = "[withheld]"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[Withhold(world)],
    )


class Withhold(AgentMiddleware[AgentState[Any]]):
    """Lets pass what may be said."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def wrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Withhold and log."""
        return self._passed(handler(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Withhold and log."""
        return self._passed(await handler(request))

    def _passed(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        safe = [withheld(each) for each in response.result]
        self._world.effect("said", {"text": safe[-1].text})
        return ModelResponse(result=safe)


def withheld(message: BaseMessage) -> BaseMessage:
    """Return what may be said, under the same id."""
    text = SECRET.sub(WITHHELD, message.text)
    if not isinstance(message, AIMessage) or text == message.text:
        return message
    return AIMessage(text, id=message.id, tool_calls=message.tool_calls)
