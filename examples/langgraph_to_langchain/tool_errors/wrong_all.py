"""Wrong: the model is told of every error, also where the run had to end.

The old handler's annotation said which errors it was for. Not seen as long as the only
errors are those.
"""

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


def told(error: Exception, _: ToolCallRequest) -> str:
    """Return what the model is told."""
    return f"The tool failed: {error}"


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
