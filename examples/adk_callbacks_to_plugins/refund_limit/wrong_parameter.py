"""Lets an agent refund so much in a session: a plugin, the sum in the state."""

from __future__ import annotations

from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.plugins import BasePlugin
from google.adk.tools import BaseTool, ToolContext

from refengine.testing import World

LIMIT: Final = 100
REFUNDED: Final = "refunded"


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

    async def before_tool_callback(  # pyright: ignore[reportIncompatibleMethodOverride]  # what is wrong with it
        self, *, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Refuse a refund that is too much, else add it to the sum."""
        amount = args.get("amount")
        if tool.name != "refund" or not isinstance(amount, int):
            return None
        total = tool_context.state.get(REFUNDED, 0) + amount
        if total > LIMIT:
            return {"error": f"No more than {LIMIT} may be refunded."}
        tool_context.state[REFUNDED] = total
        return None
