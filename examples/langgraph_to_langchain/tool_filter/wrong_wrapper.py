"""Wrong: a refusal no longer comes before the results of the calls beside it.

The post hook answered before any tool ran, and the wrapper answers in the place of the
call. Not seen as long as the model makes one call at a time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from refengine.testing import World

WRITES: Final = frozenset(("delete_file", "send_mail"))


@dataclass(frozen=True)
class Caller:
    """Who is asking."""

    read_only: bool = False


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[ToolFilter()],
        context_schema=Caller,
    )


class ToolFilter(AgentMiddleware[AgentState[Any], Caller]):
    """Shows only the caller's tools, and refuses calls of others."""

    def wrap_model_call(
        self,
        request: ModelRequest[Caller],
        handler: Callable[[ModelRequest[Caller]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Show the caller's tools."""
        return handler(filtered(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Caller],
        handler: Callable[[ModelRequest[Caller]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Show the caller's tools."""
        return await handler(filtered(request))

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Answer the call of a tool that the model was not shown, or run it."""
        return refusal(request) or handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Answer the call of a tool that the model was not shown, or run it."""
        return refusal(request) or await handler(request)


def filtered(request: ModelRequest[Caller]) -> ModelRequest[Caller]:
    """Return the request with the caller's tools only."""
    runtime = request.runtime
    return request.override(
        tools=[
            each
            for each in request.tools
            if not isinstance(each, BaseTool) or allowed(runtime, each.name)
        ]
    )


def refusal(request: ToolCallRequest) -> ToolMessage | None:
    """Return the answer to a call that may not be made."""
    runtime = get_runtime(Caller)
    call = request.tool_call
    if allowed(runtime, call["name"]):
        return None
    return ToolMessage(
        f"{call['name']} is not for you.",
        name=call["name"],
        tool_call_id=call["id"],
        status="error",
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"


def allowed(runtime: Runtime[Caller], name: str) -> bool:
    """Tell whether the caller may use a tool."""
    return not (runtime.context.read_only and name in WRITES)
