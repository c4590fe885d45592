"""Asks a model once more that was not reached, and then apologises: around the call."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.genai.types import Content, Part

from refengine.testing import World

APOLOGY: Final = "I cannot think right now."


def subject(world: World) -> object:
    """Return the agent of one session, and the plugins of its runner."""
    adk = world.as_adk()
    helper = LlmAgent(
        name="helper",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
    )
    return helper, [ModelTrouble(world, adk.model)]


class ModelTrouble(BasePlugin):
    """Asks a model once more that was not reached, and logs what was said."""

    def __init__(self, world: World, model: BaseLlm) -> None:
        super().__init__("model_trouble")
        self._world = world
        self._model = model

    async def before_model_callback(
        self,
        *,
        callback_context: CallbackContext,  # noqa: ARG002  # as BasePlugin
        llm_request: LlmRequest,
    ) -> LlmResponse | None:
        """Ask here, so that trouble of the network can be caught."""
        ask = self._model.generate_content_async
        try:
            return [each async for each in ask(llm_request)][-1]
        except (ConnectionError, TimeoutError):
            return await second_try(self._model, llm_request)

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """Log what the model said."""
        said = text_of(llm_response)
        told = {"by": callback_context.agent_name, "text": said}
        self._world.effect("said", told)


async def second_try(model: BaseLlm, llm_request: LlmRequest) -> LlmResponse:
    """Return what the model answers now, or an apology."""
    try:
        answers = [each async for each in model.generate_content_async(llm_request)]
    except Exception:  # noqa: BLE001  # whatever it is this time
        sorry = Content(role="model", parts=[Part(text=APOLOGY)])
        return LlmResponse(content=sorry)
    return answers[-1]


def text_of(response: LlmResponse) -> str:
    """Return the text of an answer."""
    parts = response.content.parts if response.content else None
    return "".join(part.text or "" for part in parts or [])
