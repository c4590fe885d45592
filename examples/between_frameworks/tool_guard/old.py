"""Runs no tool that deletes: a middleware around each call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from refengine.testing import World

DELETES: Final = "delete_"
REFUSED: Final = "Nobody but a person may delete."


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model, lc.tools, system_prompt=lc.system_prompt, middleware=[Guard(world)]
    )


class Guard(AgentMiddleware[AgentState[Any]]):
    """Answers in the place of tools that delete."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Run the tool, if it may run."""
        return self._refusal(request) or handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Run the tool, if it may run."""
        return self._refusal(request) or await handler(request)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        name = request.tool_call["name"]
        if not name.startswith(DELETES):
            return None
        self._world.effect("refused", name)
        return ToolMessage(REFUSED, tool_call_id=request.tool_call["id"])
