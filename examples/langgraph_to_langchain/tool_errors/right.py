"""Tells the model of some errors of tools: the built-in and a function."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware
from langchain_core.tools import tool
from langgraph.prebuilt.tool_node import ToolCallRequest

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    return create_agent(
        lc.model,
        [*lc.tools, list_files],
        system_prompt=lc.system_prompt,
        middleware=[ToolErrorMiddleware(told)],
    )


def told(error: Exception, _: ToolCallRequest) -> str | None:
    """Return what the model is told; None where the run has to end.

    What does not fit a tool's schema never comes here: the tool node tells it.
    """
    if isinstance(error, OSError):
        return f"The tool failed: {error}"
    return None


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
