"""Shows a reminder and the end of a long history: the framework's own plugin."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins import BasePlugin
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.genai.types import Content, Part

from refengine.testing import World

KEPT: Final = 3
REMINDER: Final = "Answer in one sentence."


def subject(world: World) -> object:
    """Return the agent of one session, and the plugins of its runner."""
    adk = world.as_adk()
    helper = LlmAgent(
        name="helper",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
    )
    return helper, [Reminder(), ContextFilterPlugin(num_invocations_to_keep=KEPT)]


class Reminder(BasePlugin):
    """Adds a reminder behind all that was said."""

    def __init__(self) -> None:
        super().__init__("reminder")

    async def before_model_callback(
        self,
        *,
        callback_context: CallbackContext,  # noqa: ARG002  # as BasePlugin
        llm_request: LlmRequest,
    ) -> None:
        """Add the reminder to a request."""
        llm_request.contents.append(Content(role="user", parts=[Part(text=REMINDER)]))
