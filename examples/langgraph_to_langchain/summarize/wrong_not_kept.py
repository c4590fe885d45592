"""Wrong: the summary is made for one call, and the history stays as long as it was.

What the model sees is the same at the first call; at the second one it is asked for a
summary once more.
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
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage, get_buffer_string

from refengine.testing import World

LIMIT: Final = 7
"""A history of more messages is summarised."""
KEEP: Final = 3
"""So many messages at its end stay as they are."""
PROMPT: Final = "Summarise the conversation:\n{messages}"
SUMMARY: Final = "Here is a summary of the conversation to date:\n\n{}"


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        lc.tools,
        system_prompt=lc.system_prompt,
        middleware=[Summarize(lc.model)],
    )


class Summarize(AgentMiddleware[AgentState[Any]]):
    """Has the model summarise what is old."""

    def __init__(self, model: BaseChatModel) -> None:
        super().__init__()
        self._model = model

    def wrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Show a summary and the end of a long history."""
        end = end_of_older(request.messages)
        if end == 0:
            return handler(request)
        answer = self._model.invoke(question(request.messages[:end]))
        return handler(shortened(request, end, answer.text))

    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show a summary and the end of a long history."""
        end = end_of_older(request.messages)
        if end == 0:
            return await handler(request)
        answer = await self._model.ainvoke(question(request.messages[:end]))
        return await handler(shortened(request, end, answer.text))


def end_of_older(messages: list[AnyMessage]) -> int:
    """Return where the part to summarise ends."""
    if len(messages) <= LIMIT:
        return 0
    end = len(messages) - KEEP
    while end and messages[end].type == "tool":
        end -= 1
    return end


def question(older: list[AnyMessage]) -> str:
    """Return what the model is asked."""
    return PROMPT.format(messages=get_buffer_string(older, format="xml"))


def shortened(
    request: ModelRequest[None], end: int, summary: str
) -> ModelRequest[None]:
    """Return the request with the summary in the place of the older part."""
    told = HumanMessage(SUMMARY.format(summary.strip()))
    return request.override(messages=[told, *request.messages[end:]])
