"""Tells a model for which tenant it answers: a callback."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest

from refengine.testing import World

TENANT: Final = "tenant"
"""The key of the state that holds the tenant; a user without one is one."""


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
        before_model_callback=add_header,
    )


def add_header(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """Add a line to the instruction."""
    tenant = callback_context.state.get(TENANT, callback_context.user_id)
    llm_request.append_instructions([f"Tenant: {tenant}"])
