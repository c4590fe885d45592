"""Takes no new question after so many seconds, and says goodbye: two callbacks."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.genai.types import Content, Part

from refengine.testing import World

OPEN: Final = 2.0
"""So many seconds pass from the first question until questions are too late."""
SINCE: Final = "open_since"


def subject(world: World) -> object:
    """Return the agent of one session."""
    adk = world.as_adk()

    def close(callback_context: CallbackContext) -> Content | None:
        now = world.now()
        since = callback_context.state.get(SINCE)
        if since is None:
            callback_context.state[SINCE] = now
        elif now - since >= OPEN:
            return Content(role="model", parts=[Part(text="We are closed.")])
        return None

    def leave(callback_context: CallbackContext) -> None:
        world.effect("goodbye", {"from": callback_context.agent_name})

    return LlmAgent(
        name="desk",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
        before_agent_callback=close,
        after_agent_callback=leave,
    )
