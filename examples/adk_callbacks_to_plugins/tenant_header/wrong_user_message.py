"""Tells a model for which tenant it answers: a plugin."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.plugins import BasePlugin
from google.genai.types import Content, Part

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
    """Tells models for which tenant they answer."""

    def __init__(self) -> None:
        super().__init__("tenant_header")

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: Content
    ) -> Content:
        """Put a line before what the user said."""
        state = invocation_context.session.state
        tenant = state.get(TENANT, invocation_context.user_id)
        header = Part(text=f"Tenant: {tenant}")
        return Content(role="user", parts=[header, *(user_message.parts or [])])
