"""Counts what a model answers and what that costs: one agent has no plugin."""

from __future__ import annotations

from typing import Final

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.tools.agent_tool import AgentTool

from refengine.testing import World

ANSWERS: Final = "answers"
TOKENS: Final = "tokens"


def subject(world: World) -> object:
    """Return the agents of one session, and the plugins of their runner."""
    adk = world.as_adk()
    reader = LlmAgent(name="reader", model=adk.model, description="Reads books.")
    writer = LlmAgent(
        name="writer",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools, AgentTool(reader, include_plugins=False)],
    )
    return writer, [UsageMeter(world)]


class UsageMeter(BasePlugin):
    """Counts what models answer."""

    def __init__(self, world: World) -> None:
        super().__init__("usage_meter")
        self._world = world

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """Count an answer that is complete."""
        if llm_response.partial:
            return
        usage = llm_response.usage_metadata
        cost = (usage.total_token_count if usage else None) or 0
        state = callback_context.state
        state[ANSWERS] = state.get(ANSWERS, 0) + 1
        state[TOKENS] = state.get(TOKENS, 0) + cost

    async def after_agent_callback(
        self,
        *,
        agent: BaseAgent,  # noqa: ARG002  # as BasePlugin
        callback_context: CallbackContext,
    ) -> None:
        """Tell what the session has cost."""
        state = callback_context.state
        told = {"answers": state.get(ANSWERS, 0), "tokens": state.get(TOKENS, 0)}
        self._world.effect("usage", told)
