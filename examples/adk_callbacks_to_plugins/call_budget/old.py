"""Limits how often the front desk asks its model in a run: a callback of the agent."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, Part

from refengine.testing import World

BUDGET: Final = 2
ASKED: Final = "temp:asked"
"""The key of what was asked in this run; nobody keeps what begins with temp:."""


def subject(world: World) -> object:
    """Return the agent of one session."""
    adk = world.as_adk()
    clerk = LlmAgent(name="clerk", model=adk.model, description="Knows the files.")
    return LlmAgent(
        name="desk",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
        sub_agents=[clerk],
        before_model_callback=spend,
    )


def spend(
    callback_context: CallbackContext,
    llm_request: LlmRequest,  # noqa: ARG001  # as the framework calls it
) -> LlmResponse | None:
    """Count a call of the model, or stop the run."""
    asked = callback_context.state.get(ASKED, 0)
    if asked >= BUDGET:
        stop = Part(text="I had to stop here.")
        return LlmResponse(content=Content(role="model", parts=[stop]))
    callback_context.state[ASKED] = asked + 1
    return None
