"""Asks a function before dangerous tools run: a tool node with a wrapper."""
# What is ported is deprecated, and its types are partial.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from refengine.testing import World

DANGEROUS: Final = ("delete_file", "send_mail")


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()

    def ask(
        request: ToolCallRequest,
        execute: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        call = request.tool_call
        if call["name"] not in DANGEROUS or lc.approves(call):
            return execute(request)
        return ToolMessage(
            f"{call['name']} was not approved.",
            name=call["name"],
            tool_call_id=call["id"],
            status="error",
        )

    tools = ToolNode([*lc.tools, list_files], wrap_tool_call=ask)
    return create_react_agent(lc.model, tools, prompt=lc.system_prompt)


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
