"""Wrong: addresses are kept from the model, and stay in the history.

All that the model is sent is the same, and so is the answer if it holds no address.
"""

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

from refengine.testing import World

EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")
REDACTED: Final = "[REDACTED_EMAIL]"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[Redaction()]
    )


class Redaction(AgentMiddleware[AgentState[Any]]):
    """Redacts what the model is sent, and what it says."""

    def wrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Redact request and response."""
        sent = [redacted(each) for each in request.messages]
        return said(handler(request.override(messages=sent)))

    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Redact request and response."""
        sent = [redacted(each) for each in request.messages]
        return said(await handler(request.override(messages=sent)))


def said(response: ModelResponse[Any]) -> ModelResponse[Any]:
    """Return a response without addresses."""
    return ModelResponse(result=[redacted(each) for each in response.result])


def redacted(message: Any) -> Any:  # noqa: ANN401  # a message of any kind
    """Return a message without addresses, under the same id."""
    text = EMAIL.sub(REDACTED, message.text)
    return message.model_copy(update={"content": text})
