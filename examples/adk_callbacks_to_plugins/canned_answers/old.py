"""Answers what is asked every day without a model: two callbacks, the log first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, Part

from refengine.testing import World

ANSWERS: Final[Mapping[str, str]] = {
    "opening hours": "We are open from nine to five.",
    "where are you": "You find us at the harbour.",
}


def subject(world: World) -> object:
    """Return the agent of one session."""
    adk = world.as_adk()

    def log(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        asked = len(llm_request.contents)
        world.effect("asked", {"by": callback_context.agent_name, "messages": asked})

    return LlmAgent(
        name="desk",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
        before_model_callback=[log, canned],
        after_model_callback=sign,
    )


def canned(
    callback_context: CallbackContext,  # noqa: ARG001  # as the framework calls it
    llm_request: LlmRequest,
) -> LlmResponse | None:
    """Answer a question that has an answer."""
    answer = ANSWERS.get(last_text(llm_request.contents))
    return None if answer is None else said(answer)


def sign(
    callback_context: CallbackContext,  # noqa: ARG001  # as the framework calls it
    llm_response: LlmResponse,
) -> None:
    """Say below an answer of the model that a model gave it."""
    for part in (llm_response.content and llm_response.content.parts) or []:
        if part.text and not llm_response.partial:
            part.text += " (by a model)"


def last_text(contents: list[Content]) -> str:
    """Return what was said last, in small letters."""
    parts = contents[-1].parts if contents else None
    return "".join(part.text or "" for part in parts or []).lower()


def said(text: str) -> LlmResponse:
    """Return what stands in the place of a model's answer."""
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]))
