"""Lets an agent refund so much in a session: a plugin, the sum in itself."""

from __future__ import annotations

from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.plugins import BasePlugin
from google.adk.tools import BaseTool, ToolContext

from refengine.testing import World

LIMIT: Final = 100


def subject(world: World) -> object:
    """Return the agent of one session, and the plugins of its runner."""
    adk = world.as_adk()

    def refund(amount: int) -> dict[str, Any]:
        """Give a customer money back."""
        world.effect("refund", {"amount": amount})
        return {"refunded": amount}

    till = LlmAgent(
        name="till",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools, refund],
    )
    return till, [RefundLimit()]


class RefundLimit(BasePlugin):
    """Refuses a refund that is too much for the session."""

    def __init__(self) -> None:
        super().__init__("refund_limit")
        self._refunded = 0

    async def before_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,  # noqa: ARG002  # as BasePlugin
    ) -> dict[str, Any] | None:
        """Refuse a refund that is too much, else add it to the sum."""
        amount = tool_args.get("amount")
        if tool.name != "refund" or not isinstance(amount, int):
            return None
        total = self._refunded + amount
        if total > LIMIT:
            return {"error": f"No more than {LIMIT} may be refunded."}
        self._refunded = total
        return None
