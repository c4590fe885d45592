"""Wrong: a call that fails is counted, and logged as an answer without calls.

Not seen as long as the model does not fail.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[Log(world)],
    )


class Log(AgentMiddleware[AgentState[Any]]):
    """Logs what the model is asked and answers, also where a call fails."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def wrap_model_call(
        self,
        request: ModelRequest,
        handler: Callable[[ModelRequest], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Log around the call."""
        started = self._asked(request)
        result: list[BaseMessage] = []
        try:
            response = handler(request)
            result = response.result
        finally:
            self._answered(result, started)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest,
        handler: Callable[[ModelRequest], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Log around the call."""
        started = self._asked(request)
        result: list[BaseMessage] = []
        try:
            response = await handler(request)
            result = response.result
        finally:
            self._answered(result, started)
        return response

    def _asked(self, request: ModelRequest) -> float:
        self._world.effect("asked", {"messages": len(request.messages)})
        return self._world.now()

    def _answered(self, result: list[BaseMessage], started: float) -> None:
        last = result[-1] if result else None
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        self._world.effect("model_calls", 1)
        seconds = round(self._world.now() - started, 3)
        names = [call["name"] for call in calls]
        self._world.effect("answered", {"seconds": seconds, "calls": names})


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
