"""Tells a model for which tenant it answers: a plugin."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins import BasePlugin

from refengine.testing import World

TENANT: Final = "tenant"
"""The key of the state that holds the tenant; a user without one is one."""


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
    return desk, [TenantHeader()]


class TenantHeader(BasePlugin):
    """Tells the model for which tenant it answers."""

    def __init__(self) -> None:
        super().__init__("tenant_header")

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Add a line to the instruction."""
        tenant = callback_context.state.get(TENANT, callback_context.user_id)
        llm_request.append_instructions([f"Tenant: {tenant}"])
