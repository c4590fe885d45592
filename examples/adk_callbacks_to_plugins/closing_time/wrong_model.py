"""Takes no new question after so many seconds, and says goodbye: a plugin."""

from __future__ import annotations

from typing import Final

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.genai.types import Content, Part

from refengine.testing import World

OPEN: Final = 2.0
"""So many seconds pass from the first question until questions are too late."""
SINCE: Final = "open_since"


def subject(world: World) -> object:
    """Return the application of one session."""
    adk = world.as_adk()
    desk = LlmAgent(
        name="desk",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
    )
    return App(name="office", root_agent=desk, plugins=[ClosingTime(world)])


class ClosingTime(BasePlugin):
    """Takes no new question when it is late."""

    def __init__(self, world: World) -> None:
        super().__init__("closing_time")
        self._world = world

    async def before_agent_callback(
        self,
        *,
        agent: BaseAgent,  # noqa: ARG002  # as BasePlugin
        callback_context: CallbackContext,
    ) -> None:
        """Remember when the first question came."""
        if callback_context.state.get(SINCE) is None:
            callback_context.state[SINCE] = self._world.now()

    async def before_model_callback(
        self,
        *,
        callback_context: CallbackContext,
        llm_request: LlmRequest,  # noqa: ARG002  # as BasePlugin
    ) -> LlmResponse | None:
        """Answer in the place of the model, when it is late."""
        since = callback_context.state.get(SINCE)
        if since is None or self._world.now() - since < OPEN:
            return None
        closed = Part(text="We are closed.")
        return LlmResponse(content=Content(role="model", parts=[closed]))

    async def after_agent_callback(
        self,
        *,
        agent: BaseAgent,
        callback_context: CallbackContext,  # noqa: ARG002  # as BasePlugin
    ) -> None:
        """Say goodbye, when the agent has answered."""
        self._world.effect("goodbye", {"from": agent.name})
