"""Keeps e-mail addresses from model, tools and people: three callbacks of the agent."""

from __future__ import annotations

import re
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import BaseTool, ToolContext
from google.genai.types import Content

from refengine.testing import World

EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")
MASK: Final = "[EMAIL]"


def subject(world: World) -> object:
    """Return the agent of one session."""
    adk = world.as_adk()
    return LlmAgent(
        name="helper",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
        before_model_callback=mask_request,
        after_model_callback=mask_response,
        after_tool_callback=mask_result,
    )


def mask_request(
    callback_context: CallbackContext,  # noqa: ARG001  # as the framework calls it
    llm_request: LlmRequest,
) -> None:
    """Mask what the model is shown."""
    llm_request.contents = [masked(each) for each in llm_request.contents]


def mask_response(
    callback_context: CallbackContext,  # noqa: ARG001  # as the framework calls it
    llm_response: LlmResponse,
) -> LlmResponse | None:
    """Mask what the model says."""
    if llm_response.content is None:
        return None
    return llm_response.model_copy(update={"content": masked(llm_response.content)})


def mask_result(
    tool: BaseTool,  # noqa: ARG001  # as the framework calls it
    args: dict[str, Any],  # noqa: ARG001  # as the framework calls it
    tool_context: ToolContext,  # noqa: ARG001  # as the framework calls it
    tool_response: dict[str, Any],
) -> dict[str, Any]:
    """Mask what a tool gives."""
    return masked_values(tool_response)


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
