"""Counts what a model answers and what that costs: two callbacks."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool

from refengine.testing import World

ANSWERS: Final = "answers"
TOKENS: Final = "tokens"


def subject(world: World) -> object:
    """Return the agent of one session."""
    adk = world.as_adk()

    def bill(callback_context: CallbackContext) -> None:
        state = callback_context.state
        told = {"answers": state.get(ANSWERS, 0), "tokens": state.get(TOKENS, 0)}
        world.effect("usage", told)

    reader = LlmAgent(name="reader", model=adk.model, description="Reads books.")
    return LlmAgent(
        name="writer",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools, AgentTool(reader)],
        after_model_callback=meter,
        after_agent_callback=bill,
    )


def meter(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
    """Count an answer that is complete."""
    if llm_response.partial:
        return
    usage = llm_response.usage_metadata
    cost = (usage.total_token_count if usage else None) or 0
    state = callback_context.state
    state[ANSWERS] = state.get(ANSWERS, 0) + 1
    state[TOKENS] = state.get(TOKENS, 0) + cost
