"""Answers what is asked every day without a model: three plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.genai.types import Content, Part

from refengine.testing import World

ANSWERS: Final[Mapping[str, str]] = {
    "opening hours": "We are open from nine to five.",
    "where are you": "You find us at the harbour.",
}


def subject(world: World) -> object:
    """Return the agent of one session, and the plugins of its runner."""
    adk = world.as_adk()
    desk = LlmAgent(
        name="desk",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
    )
    return desk, [RequestLog(world), CannedAnswers(), Signature()]


class RequestLog(BasePlugin):
    """Tells of each request that a model would be sent."""

    def __init__(self, world: World) -> None:
        super().__init__("request_log")
        self._world = world

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Tell who asks, and with how many messages."""
        asked = len(llm_request.contents)
        told = {"by": callback_context.agent_name, "messages": asked}
        self._world.effect("asked", told)


class CannedAnswers(BasePlugin):
    """Answers in the place of the model."""

    def __init__(self) -> None:
        super().__init__("canned_answers")

    async def before_model_callback(
        self,
        *,
        callback_context: CallbackContext,  # noqa: ARG002  # as BasePlugin
        llm_request: LlmRequest,
    ) -> LlmResponse | None:
        """Answer a question that has an answer."""
        answer = ANSWERS.get(last_text(llm_request.contents))
        return None if answer is None else said(answer)


class Signature(BasePlugin):
    """Says below an answer of the model that a model gave it."""

    def __init__(self) -> None:
        super().__init__("signature")

    async def after_model_callback(
        self,
        *,
        callback_context: CallbackContext,  # noqa: ARG002  # as BasePlugin
        llm_response: LlmResponse,
    ) -> None:
        """Sign an answer that is complete."""
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
