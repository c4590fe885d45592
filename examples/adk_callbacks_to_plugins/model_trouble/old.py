"""Asks a model once more that was not reached, and then apologises: two callbacks."""

from __future__ import annotations

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, Part

from refengine.testing import World

APOLOGY: Final = "I cannot think right now."


def subject(world: World) -> object:
    """Return the agent of one session."""
    adk = world.as_adk()

    async def recover(
        callback_context: CallbackContext,  # noqa: ARG001  # as the framework calls it
        llm_request: LlmRequest,
        error: Exception,
    ) -> LlmResponse | None:
        if not isinstance(error, ConnectionError | TimeoutError):
            return None
        return await second_try(adk.model, llm_request)

    def log(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        said = text_of(llm_response)
        world.effect("said", {"by": callback_context.agent_name, "text": said})

    return LlmAgent(
        name="helper",
        model=adk.model,
        instruction=adk.instruction,
        tools=[*adk.tools],
        on_model_error_callback=recover,
        after_model_callback=log,
    )


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
