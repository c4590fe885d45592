"""Lets an agent refund so much in a session: a callback, a sum in the state."""

from __future__ import annotations

from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.tools import BaseTool, ToolContext

from refengine.testing import World

LIMIT: Final = 100
REFUNDED: Final = "refunded"


def subject(world: World) -> object:
    """Return the agent of one session."""
    adk = world.as_adk()

    def refund(amount: int) -> dict[str, Any]:
        """Give a customer money back."""
        world.effect("refund", {"amount": amount})
        return {"refunded": amount}

    return LlmAgent(
        name="till",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools, refund],
        before_tool_callback=limit,
    )


def limit(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
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
