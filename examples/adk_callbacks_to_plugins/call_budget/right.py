"""Limits how often the front desk asks its model in a run: a plugin that looks who."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.genai.types import Content, Part

from refengine.testing import World

BUDGET: Final = 2
ASKED: Final = "temp:asked"
"""The key of what was asked in this run; nobody keeps what begins with temp:."""


def subject(world: World) -> object:
    """Return the agents of one session, and the plugins of their runner."""
    adk = world.as_adk()
    clerk = LlmAgent(name="clerk", model=adk.model, description="Knows the files.")
    desk = LlmAgent(
        name="desk",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
        sub_agents=[clerk],
    )
    return desk, [CallBudget(desk.name)]


class CallBudget(BasePlugin):
    """Stops a run in which one agent asked its model too often."""

    def __init__(self, agent: str) -> None:
        super().__init__("call_budget")
        self._agent = agent

    async def before_model_callback(
        self,
        *,
        callback_context: CallbackContext,
        llm_request: LlmRequest,  # noqa: ARG002  # as BasePlugin
    ) -> LlmResponse | None:
        """Count a call of the model, or stop the run."""
        if callback_context.agent_name != self._agent:
            return None
        asked = callback_context.state.get(ASKED, 0)
        if asked >= BUDGET:
            stop = Part(text="I had to stop here.")
            return LlmResponse(content=Content(role="model", parts=[stop]))
        callback_context.state[ASKED] = asked + 1
        return None
