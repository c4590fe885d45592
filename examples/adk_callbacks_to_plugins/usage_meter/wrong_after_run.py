"""Counts what a model answers and what that costs: a bill after the run."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
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
        tools=[*adk.tools, AgentTool(reader)],
    )
    return writer, [UsageMeter(world, writer.name)]


class UsageMeter(BasePlugin):
    """Counts what the model of one agent answers."""

    def __init__(self, world: World, agent: str) -> None:
        super().__init__("usage_meter")
        self._world = world
        self._agent = agent

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """Count an answer that is complete."""
        if callback_context.agent_name != self._agent or llm_response.partial:
            return
        usage = llm_response.usage_metadata
        cost = (usage.total_token_count if usage else None) or 0
        state = callback_context.state
        state[ANSWERS] = state.get(ANSWERS, 0) + 1
        state[TOKENS] = state.get(TOKENS, 0) + cost

    async def after_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> None:
        """Tell what the session has cost."""
        state = invocation_context.session.state
        told = {"answers": state.get(ANSWERS, 0), "tokens": state.get(TOKENS, 0)}
        self._world.effect("usage", told)
