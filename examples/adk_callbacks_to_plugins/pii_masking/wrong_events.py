"""Keeps e-mail addresses from model, tools and people: by events."""

from __future__ import annotations

import re
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.plugins import BasePlugin
from google.adk.tools import BaseTool, ToolContext
from google.genai.types import Content

from refengine.testing import World

EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")
MASK: Final = "[EMAIL]"


def subject(world: World) -> object:
    """Return the agent of one session, and the plugins of its runner."""
    adk = world.as_adk()
    helper = LlmAgent(
        name="helper",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
    )
    return helper, [Masking()]


class Masking(BasePlugin):
    """Masks events, of which requests are made, and what tools give."""

    def __init__(self) -> None:
        super().__init__("masking")

    async def on_event_callback(
        self,
        *,
        invocation_context: InvocationContext,  # noqa: ARG002  # as BasePlugin
        event: Event,
    ) -> Event | None:
        """Mask what is kept and what the caller is given."""
        if event.content is None:
            return None
        return event.model_copy(update={"content": masked(event.content)})

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,  # noqa: ARG002  # as BasePlugin
        tool_args: dict[str, Any],  # noqa: ARG002  # as BasePlugin
        tool_context: ToolContext,  # noqa: ARG002  # as BasePlugin
        result: dict[str, Any],
    ) -> dict[str, Any]:
        """Mask what a tool gives."""
        return masked_values(result)


def masked(content: Content) -> Content:
    """Return a message whose texts hold no address."""
    told = content.model_copy(deep=True)
    for part in told.parts or []:
        if part.text:
            part.text = EMAIL.sub(MASK, part.text)
    return told


def masked_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return a result whose texts hold no address."""
    return {
        key: EMAIL.sub(MASK, value) if isinstance(value, str) else value
        for key, value in values.items()
    }
