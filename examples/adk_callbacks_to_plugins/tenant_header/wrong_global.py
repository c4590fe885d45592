"""Tells a model for which tenant it answers: the framework's plugin."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.plugins.global_instruction_plugin import GlobalInstructionPlugin

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
    return desk, [GlobalInstructionPlugin(header)]


def header(context: ReadonlyContext) -> str:
    """Return the line for the instruction."""
    return f"Tenant: {context.state.get(TENANT, context.user_id)}"
