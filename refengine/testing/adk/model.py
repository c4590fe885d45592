"""The world's model as a model of ADK: the same script, seen as there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, cast

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import GenerateContentResponseUsageMetadata
from pydantic import Field

from refengine.messages import Json, Message, MessageChunk, join_chunks
from refengine.testing.adk.contents import (
    answer_said,
    as_response,
    instruction_in,
    said,
    shown_tools,
)
from refengine.testing.notation import pieces_of
from refengine.testing.own_tools import with_own_tools
from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import error_at
from refengine.testing.world import World

MODEL: Final = "world"
"""The name of the model that a subject is given."""
APART: Final = frozenset(("system_instruction", "tools", "labels", "http_options"))
"""Fields of a configuration that are told apart, or that no model is sent.

Labels name the agent for a vendor's bill.
"""


class WorldLlm(BaseLlm):
    """Answers from the world's script, and puts down what each request carries.

    A model of another name plays the same script: what falls back to it asks the same
    world. Usage is told in words, so that what counts it has something to count.
    """

    model: str = MODEL
    world: Any = Field(exclude=True, repr=False)

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT002  # as the framework declares it
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the script's next answer; raises what is scripted."""
        shown = self._ask(llm_request)
        await asyncio.sleep(self._world.model.seconds)
        answer, failure = self._next(shown)
        if stream:
            for piece in _pieces(answer):
                yield as_response(Message("assistant", piece), partial=True)
        if failure is not None:
            self._world.recorder.add("model_error", {"error": failure})
            raise error_at(failure, "model")
        whole = answer if isinstance(answer, Message) else join_chunks(answer)
        self._world.recorder.add("model_response", {"message": answer_said(whole)})
        response = as_response(whole)
        response.usage_metadata = _usage(llm_request, whole)
        yield response

    @property
    def _world(self) -> World:
        return cast("World", self.world)

    def _ask(self, request: LlmRequest) -> Sequence[Mapping[str, Any]]:
        """Put a request down; return the tools that it shows."""
        config = request.config
        instruction = instruction_in(config.system_instruction)
        messages: list[Json] = [each for one in request.contents for each in said(one)]
        if instruction:
            messages.insert(0, {"role": "system", "content": instruction})
        given = config.model_dump(mode="json", exclude_none=True, exclude={*APART})
        options: dict[str, Json] = {key: snapshot(each) for key, each in given.items()}
        named = request.model or self.model
        if named != MODEL:
            options["model"] = named
        tools = shown_tools(config)
        self._world.model.begin_call(
            {"messages": messages, "tools": tools, "options": options, "ctx": "-"}
        )
        return cast("Sequence[Mapping[str, Any]]", tools)

    def _next(
        self, shown: Sequence[Mapping[str, Any]]
    ) -> tuple[Message | Sequence[MessageChunk], str | None]:
        answer, failure = self._world.model.next_answer()
        if isinstance(answer, Message):
            others = [spec.name for spec in self._world.tool_specs]
            answer = with_own_tools(answer, shown, [*others, TRANSFER])
        return answer, failure


TRANSFER: Final = "transfer_to_agent"
"""The framework's own tool, which is none of the subject's."""


def _pieces(answer: Message | Sequence[MessageChunk]) -> Sequence[str]:
    """Return the texts that a stream brings before the whole answer."""
    chunks = pieces_of(answer) if isinstance(answer, Message) else answer
    return [each.content for each in chunks if each.content]


def _usage(
    request: LlmRequest, answer: Message
) -> GenerateContentResponseUsageMetadata:
    texts = [p.text or "" for each in request.contents for p in each.parts or []]
    asked = sum(len(text.split()) for text in texts)
    told = len(answer.content.split()) + len(answer.tool_calls)
    return GenerateContentResponseUsageMetadata(
        prompt_token_count=asked,
        candidates_token_count=told,
        total_token_count=asked + told,
    )
