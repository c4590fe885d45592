"""Shows a reminder and the end of a long history: one half of it a plugin."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins import BasePlugin
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
        before_model_callback=remind,
    )
    return helper, [ShortMemory()]


def remind(
    callback_context: CallbackContext,  # noqa: ARG001  # as the framework calls it
    llm_request: LlmRequest,
) -> None:
    """Add the reminder behind all that was said."""
    llm_request.contents.append(Content(role="user", parts=[Part(text=REMINDER)]))


class ShortMemory(BasePlugin):
    """Shows the model the last messages."""

    def __init__(self) -> None:
        super().__init__("short_memory")

    async def before_model_callback(
        self,
        *,
        callback_context: CallbackContext,  # noqa: ARG002  # as BasePlugin
        llm_request: LlmRequest,
    ) -> None:
        """Keep the last messages, none of which is a result without its call."""
        start = max(0, len(llm_request.contents) - KEPT)
        while start > 0 and is_result(llm_request.contents[start]):
            start -= 1
        llm_request.contents = llm_request.contents[start:]


def is_result(content: Content) -> bool:
    """Tell whether a message holds results of tools."""
    return any(part.function_response for part in content.parts or [])
