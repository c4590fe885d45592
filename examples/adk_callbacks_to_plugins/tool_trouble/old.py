"""Tells the model of a tool that did not answer: a callback."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools import BaseTool, ToolContext

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session."""
    adk = world.as_adk()
    return LlmAgent(
        name="helper",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
        on_tool_error_callback=tell,
    )


def tell(
    tool: BaseTool,
    args: dict[str, Any],  # noqa: ARG001  # as the framework calls it
    tool_context: ToolContext,  # noqa: ARG001  # as the framework calls it
    error: Exception,
) -> dict[str, Any] | None:
    """Give a result in the place of one that did not come."""
    if not isinstance(error, ConnectionError | TimeoutError):
        return None
    return {"error": f"{tool.name} did not answer. Try something else."}
