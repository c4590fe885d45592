"""Keeps the results of tools, the volatile ones aside: a tool node with a wrapper."""
# What is ported is deprecated, and its types are partial.

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from refengine.testing import World

VOLATILE: Final = ("get_time", "send_mail")


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    cache: dict[str, str | list[str | dict[Any, Any]]] = {}

    def cached(
        request: ToolCallRequest,
        execute: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        found = answer(cache, request)
        return found or keep(cache, request, execute(request))

    async def acached(
        request: ToolCallRequest,
        execute: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        found = answer(cache, request)
        return found or keep(cache, request, await execute(request))

    tools = ToolNode(
        [*lc.tools, list_files], wrap_tool_call=cached, awrap_tool_call=acached
    )
    return create_react_agent(lc.model, tools, prompt=lc.system_prompt)


def answer(
    cache: dict[str, str | list[str | dict[Any, Any]]], request: ToolCallRequest
) -> ToolMessage | None:
    """Return what was kept as the answer to this call."""
    call = request.tool_call
    if key(request) not in cache:
        return None
    return ToolMessage(cache[key(request)], name=call["name"], tool_call_id=call["id"])


def keep(
    cache: dict[str, str | list[str | dict[Any, Any]]],
    request: ToolCallRequest,
    result: ToolMessage | Command[Any],
) -> ToolMessage | Command[Any]:
    """Keep a result that is no error and that stays the same."""
    volatile = request.tool_call["name"] in VOLATILE
    if isinstance(result, ToolMessage) and result.status == "success" and not volatile:
        cache[key(request)] = result.content
    return result


def key(request: ToolCallRequest) -> str:
    """Return the tool and its arguments as one text."""
    call = request.tool_call
    return json.dumps([call["name"], call["args"]], sort_keys=True)


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
