"""Refuses some tools, logs what others do, and clips results: three plugins."""

from __future__ import annotations

from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.plugins import BasePlugin
from google.adk.tools import BaseTool, ToolContext

from refengine.testing import World

REFUSED: Final = frozenset({"delete"})
LONGEST: Final = 20


def subject(world: World) -> object:
    """Return the agent of one session, and the plugins of its runner."""
    adk = world.as_adk()
    helper = LlmAgent(
        name="helper",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
    )
    return helper, [Refusal(), AuditLog(world), Clipping()]


class Refusal(BasePlugin):
    """Keeps some tools from being run."""

    def __init__(self) -> None:
        super().__init__("refusal")

    async def before_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],  # noqa: ARG002  # as BasePlugin
        tool_context: ToolContext,  # noqa: ARG002  # as BasePlugin
    ) -> dict[str, Any] | None:
        """Give a word in the place of what a tool would do."""
        return {"error": "That is not allowed."} if tool.name in REFUSED else None


class AuditLog(BasePlugin):
    """Logs calls of tools, and what they gave."""

    def __init__(self, world: World) -> None:
        super().__init__("audit_log")
        self._world = world

    def before_tool_callback(  # pyright: ignore[reportIncompatibleMethodOverride]  # what is wrong with it
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,  # noqa: ARG002  # as BasePlugin
    ) -> None:
        """Log a call that is about to be made."""
        self._world.effect("called", {"tool": tool.name, "args": tool_args})

    def after_tool_callback(  # pyright: ignore[reportIncompatibleMethodOverride]  # what is wrong with it
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],  # noqa: ARG002  # as BasePlugin
        tool_context: ToolContext,  # noqa: ARG002  # as BasePlugin
        result: dict[str, Any],
    ) -> None:
        """Log what a tool gave."""
        self._world.effect("gave", {"tool": tool.name, "result": result})


class Clipping(BasePlugin):
    """Cuts results that are long texts."""

    def __init__(self) -> None:
        super().__init__("clipping")

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,  # noqa: ARG002  # as BasePlugin
        tool_args: dict[str, Any],  # noqa: ARG002  # as BasePlugin
        tool_context: ToolContext,  # noqa: ARG002  # as BasePlugin
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Cut a result that is a long text."""
        text = result.get("result")
        if not isinstance(text, str) or len(text) <= LONGEST:
            return None
        return {"result": text[:LONGEST]}
