"""Wrong: the agent can only be awaited, though the old one could be invoked, too.

A decorator makes a wrapper for the one way that its function is written in. Not seen
in tests that are all async.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse, wrap_model_call
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    @wrap_model_call
    async def log(
        request: ModelRequest,
        handler: Callable[[ModelRequest], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        started = world.now()
        world.effect("asked", {"messages": len(request.messages)})
        response = await handler(request)
        last = response.result[-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        world.effect("model_calls", 1)
        seconds = round(world.now() - started, 3)
        names = [call["name"] for call in calls]
        world.effect("answered", {"seconds": seconds, "calls": names})
        return response

    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[log],
    )


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
