"""Tells the model of a tool that did not answer: a plugin."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.plugins import BasePlugin
from google.adk.tools import BaseTool, ToolContext

from refengine.testing import World


def subject(world: World) -> object:
    """Return the agent of one session, and the plugins of its runner."""
    adk = world.as_adk()
    helper = LlmAgent(
        name="helper",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
    )
    return helper, [ToolTrouble()]


class ToolTrouble(BasePlugin):
    """Gives results in the place of those that did not come."""

    def __init__(self) -> None:
        super().__init__("tool_trouble")

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],  # noqa: ARG002  # as BasePlugin
        tool_context: ToolContext,  # noqa: ARG002  # as BasePlugin
        error: Exception,
    ) -> dict[str, Any]:
        """Give a result in the place of one that did not come."""
        if not isinstance(error, ConnectionError | TimeoutError):
            return {}
        return {"error": f"{tool.name} did not answer. Try something else."}
