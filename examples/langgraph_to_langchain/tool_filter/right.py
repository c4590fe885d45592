"""Keeps tools that write from who may only read: one class with two hooks."""

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
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.runtime import Runtime

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

    def after_model(
        self, state: AgentState[Any], runtime: Runtime[Caller]
    ) -> dict[str, Any]:
        """Answer the calls of tools that the model was not shown."""
        last = state["messages"][-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        return {
            "messages": [
                ToolMessage(
                    f"{call['name']} is not for you.",
                    name=call["name"],
                    tool_call_id=call["id"],
                    status="error",
                )
                for call in calls
                if not allowed(runtime, call["name"])
            ]
        }


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


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"


def allowed(runtime: Runtime[Caller], name: str) -> bool:
    """Tell whether the caller may use a tool."""
    return not (runtime.context.read_only and name in WRITES)
