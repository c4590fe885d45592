"""Keeps e-mail addresses from model, tools and people: a plugin."""

from __future__ import annotations

import re
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
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
    """Masks what the model is shown, what it says, and what tools give."""

    def __init__(self) -> None:
        super().__init__("masking")

    async def before_model_callback(
        self,
        *,
        callback_context: CallbackContext,  # noqa: ARG002  # as BasePlugin
        llm_request: LlmRequest,
    ) -> None:
        """Mask what the model is shown."""
        llm_request.contents = [masked(each) for each in llm_request.contents]

    async def after_model_callback(
        self,
        *,
        callback_context: CallbackContext,  # noqa: ARG002  # as BasePlugin
        llm_response: LlmResponse,
    ) -> LlmResponse | None:
        """Mask what the model says."""
        if llm_response.content is None:
            return None
        return llm_response.model_copy(update={"content": masked(llm_response.content)})

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
