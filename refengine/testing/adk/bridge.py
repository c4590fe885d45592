"""What ``world.as_adk()`` gives a subject to build its agents from: scripted, and seen.

Model and tools are the world's, as ADK has such.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any, Final, cast

from google.adk.artifacts import BaseArtifactService, InMemoryArtifactService
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import Field

from refengine.messages import Json
from refengine.testing.adk.contents import (
    content_of,
    instruction_in,
    said,
    shown_tools,
)
from refengine.testing.flows.world import (
    MODEL,
    FlowAnswer,
    FlowAsked,
    FlowToolRuns,
    answered,
)
from refengine.testing.ops import ToolSpec
from refengine.testing.recorder import snapshot
from refengine.testing.world import World

APART: Final = frozenset(("system_instruction", "tools", "labels", "http_options"))
"""Fields of a configuration that are told apart, or that no model is sent.

Labels name the agent for a vendor's bill.
"""


class AdkBridge:
    """A world as Google's ADK sees it.

    ``model`` and ``tools`` are the world's own, ``instruction`` is that of its agent,
    or an empty text. Agents may have other tools too, which are observed when they run,
    but no other model. The services keep all in memory; whoever builds a ``Runner``
    gives it the first.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.model: BaseLlm = self.model_named(MODEL)
        self.instruction: str = world.instruction or ""
        self._tools = [WorldAdkTool(spec, world) for spec in world.tool_specs]
        self.session_service: BaseSessionService = InMemorySessionService()
        self.artifact_service: BaseArtifactService = InMemoryArtifactService()

    @property
    def tools(self) -> Sequence[BaseTool]:
        """The world's tools, in a list that may be changed."""
        return list(self._tools)

    def model_named(self, name: str) -> BaseLlm:
        """Return a second model; it plays the same script, and requests name it."""
        return WorldLlm(model=name, world=self._world)


class WorldLlm(BaseLlm):
    """Answers from the world's script, and puts down what each request carries.

    A model of another name plays the same script: what falls back to it asks the same
    world.
    """

    model: str = MODEL
    world: Any = Field(exclude=True, repr=False)

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT002  # as the framework declares it
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the script's next answer; raises what is scripted."""
        world, asked = cast("World", self.world), self._asked(llm_request)
        response = partial(_response, stream=stream)
        async for each in answered(world, asked, response, stream=stream):
            yield each

    def _asked(self, request: LlmRequest) -> FlowAsked:
        config, contents = request.config, request.contents
        given = config.model_dump(mode="json", exclude_none=True, exclude={*APART})
        return FlowAsked(
            model=request.model or self.model,
            instruction=instruction_in(config.system_instruction),
            messages=[each for one in contents for each in said(one)],
            tools=shown_tools(config),
            options={key: snapshot(each) for key, each in given.items()},
            texts=(part.text or "" for each in contents for part in each.parts or []),
        )


def _response(answer: FlowAnswer, *, stream: bool) -> LlmResponse:
    message = answer.message
    content: types.Content | None = None
    if answer.partial or message.content or message.tool_calls:
        content = content_of(message)
    elif stream:  # nothing ends a stream with no parts, and in one piece has no content
        content = types.Content(role="model", parts=[])
    made = LlmResponse(content=content, partial=answer.partial or None)
    if not answer.partial:
        made.usage_metadata = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=answer.words_asked,
            candidates_token_count=answer.words_told,
            total_token_count=answer.words_asked + answer.words_told,
        )
    return made


class WorldAdkTool(BaseTool):
    """A tool of the world."""

    def __init__(self, spec: ToolSpec, world: World) -> None:
        self._runs = FlowToolRuns(spec, world)
        super().__init__(name=self._runs.name, description=self._runs.description)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._runs.parameters,
        )

    async def run_async(
        self, *, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Json] | str:
        """Give the result of the script; raises what is scripted."""
        result = await self._runs.result(args, tool_context.function_call_id)
        if self._runs.is_direct:
            tool_context.actions.skip_summarization = True
        return result
