"""Close: the result of a failed call is marked as a success.

The model is told the same, unless a vendor's request carries the mark.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[ToolErrors()],
    )


class ToolErrors(AgentMiddleware[AgentState[Any]]):
    """Makes some errors of tools results."""

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Run the tool, and answer for it if it fails."""
        try:
            return handler(request)
        except OSError as error:
            return told(error, request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Run the tool, and answer for it if it fails."""
        try:
            return await handler(request)
        except OSError as error:
            return told(error, request)


def told(error: Exception, request: ToolCallRequest) -> ToolMessage:
    """Return what the model is told."""
    return ToolMessage(
        f"The tool failed: {error}",
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"],
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
