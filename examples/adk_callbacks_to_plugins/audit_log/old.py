"""Refuses some tools, logs what others do, and clips results: two lists."""

from __future__ import annotations

from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.tools import BaseTool, ToolContext

from refengine.testing import World

REFUSED: Final = frozenset({"delete"})
LONGEST: Final = 20


def subject(world: World) -> object:
    """Return the agent of one session."""
    adk = world.as_adk()

    def log_call(
        tool: BaseTool,
        args: dict[str, Any],
        tool_context: ToolContext,  # noqa: ARG001  # as the framework calls it
    ) -> None:
        world.effect("called", {"tool": tool.name, "args": args})

    def log_result(
        tool: BaseTool,
        args: dict[str, Any],  # noqa: ARG001  # as the framework calls it
        tool_context: ToolContext,  # noqa: ARG001  # as the framework calls it
        tool_response: dict[str, Any],
    ) -> None:
        world.effect("gave", {"tool": tool.name, "result": tool_response})

    return LlmAgent(
        name="helper",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
        before_tool_callback=[refuse, log_call],
        after_tool_callback=[log_result, clip],
    )


def refuse(
    tool: BaseTool,
    args: dict[str, Any],  # noqa: ARG001  # as the framework calls it
    tool_context: ToolContext,  # noqa: ARG001  # as the framework calls it
) -> dict[str, Any] | None:
    """Give a word in the place of what a tool would do."""
    return {"error": "That is not allowed."} if tool.name in REFUSED else None


def clip(
    tool: BaseTool,  # noqa: ARG001  # as the framework calls it
    args: dict[str, Any],  # noqa: ARG001  # as the framework calls it
    tool_context: ToolContext,  # noqa: ARG001  # as the framework calls it
    tool_response: dict[str, Any],
) -> dict[str, Any] | None:
    """Cut a result that is a long text."""
    text = tool_response.get("result")
    if not isinstance(text, str) or len(text) <= LONGEST:
        return None
    return {"result": text[:LONGEST]}
