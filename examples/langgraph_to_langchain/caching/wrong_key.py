"""Wrong: tools share what was kept under their arguments.

Not seen as long as no two tools are called alike.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from refengine.testing import World

VOLATILE: Final = ("get_time", "send_mail")


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[ToolCache()],
    )


class ToolCache(AgentMiddleware[AgentState[Any]]):
    """Keeps results of tools as long as the agent lives."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, ToolMessage] = {}

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Answer with what was kept, or run the tool."""
        return self._found(request) or self._keep(request, handler(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Answer with what was kept, or run the tool."""
        return self._found(request) or self._keep(request, await handler(request))

    def _found(self, request: ToolCallRequest) -> ToolMessage | None:
        kept = self._kept.get(key(request))
        if kept is None:
            return None
        return kept.model_copy(
            update={"id": None, "tool_call_id": request.tool_call["id"]}
        )

    def _keep(
        self, request: ToolCallRequest, result: ToolMessage | Command[Any]
    ) -> ToolMessage | Command[Any]:
        volatile = request.tool_call["name"] in VOLATILE
        failed = isinstance(result, ToolMessage) and result.status == "error"
        if isinstance(result, ToolMessage) and not volatile and not failed:
            self._kept[key(request)] = result
        return result


def key(request: ToolCallRequest) -> str:
    """Return the arguments as one text."""
    call = request.tool_call
    return json.dumps(call["args"], sort_keys=True)


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
