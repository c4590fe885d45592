"""Tells the model of some errors of tools: a tool node with a handler for errors."""
# What is ported is deprecated, and its types are partial.
# Annotations are no texts here: of those a tool node reads no union of errors.

from langchain_core.tools import tool
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.prebuilt.tool_node import ToolInvocationError

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    lc = world.as_langchain()
    tools = ToolNode([*lc.tools, list_files], handle_tool_errors=told)
    return create_react_agent(lc.model, tools, prompt=lc.system_prompt)


def told(error: OSError | ToolInvocationError) -> str:
    """Return what the model is told; the annotation says of which errors."""
    if isinstance(error, ToolInvocationError):
        return error.message
    return f"The tool failed: {error}"


@tool
def list_files() -> str:
    """List the files there are."""
    return "a.txt"
