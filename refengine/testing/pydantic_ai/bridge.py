"""What ``world.as_pydantic_ai()`` gives a subject to build its agent from.

Model and tools are the world's, as pydantic-ai has such: scripted, and seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.models import Model
from pydantic_ai.tools import Tool

from refengine.messages import Message, MessageChunk, chunk_of
from refengine.testing.flows.world import (
    ANY,
    MODEL,
    FlowAnswer,
    FlowAsked,
    answered,
)
from refengine.testing.ops import ToolSpec
from refengine.testing.pydantic_ai.messages import unnamed
from refengine.testing.pydantic_ai.model import AnsweringModel, ModelAsked
from refengine.testing.recorder import snapshot
from refengine.testing.tool_runs import ToolRuns, calling, given_by_name
from refengine.testing.world import World


class PydanticAIBridge:
    """A world as pydantic-ai sees it.

    ``model`` and ``tools`` are the world's own; ``instructions`` is that of its agent,
    or None where there is none. An agent may have other tools too, which are observed
    when they run, but no other model.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.model: Model = self.model_named(MODEL)
        self.instructions: str | None = world.instruction or None
        self._tools = [world_tool(spec, world) for spec in world.tool_specs]

    @property
    def tools(self) -> Sequence[Tool[Any]]:
        """The world's tools, in a list that may be changed."""
        return list(self._tools)

    def model_named(self, name: str) -> Model:
        """Return a second model; it plays the same script, and requests name it."""
        return ScriptedAgentModel(self._world, name)


class ScriptedAgentModel(AnsweringModel):
    """Answers from the world's script, and puts down what each request carries."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.world = world

    async def answer(self, asked: ModelAsked) -> Message:
        """Return the script's next answer; raises what is scripted."""
        found = [each.message async for each in self._told(asked, stream=False)]
        return found[-1]

    async def chunks(self, asked: ModelAsked) -> AsyncIterator[MessageChunk]:
        """Return what yields the script's next answer; raises what is scripted."""
        return self._pieces(asked)

    async def _pieces(self, asked: ModelAsked) -> AsyncGenerator[MessageChunk, None]:
        async for each in self._told(asked, stream=True):
            if each.partial:
                yield MessageChunk(each.message.content)
            elif each.message.tool_calls:
                yield MessageChunk("", chunk_of(each.message).tool_calls)

    def _told(self, asked: ModelAsked, *, stream: bool) -> AsyncIterator[FlowAnswer]:
        request = FlowAsked(
            model=self.model_name,
            instruction="",
            messages=[snapshot(each) for each in unnamed(asked.messages)],
            tools=[
                {
                    "name": each.name,
                    "description": each.description or "",
                    "parameters": snapshot(each.parameters_json_schema),
                }
                for each in asked.tools
            ],
            options={key: snapshot(each) for key, each in asked.settings.items()},
            texts=(each.content for each in asked.messages),
        )
        return answered(self.world, request, _as_it_is, stream=stream)


def _as_it_is(answer: FlowAnswer) -> FlowAnswer:
    return answer


class ScriptedAgentTool(Tool[Any]):
    """A tool of the world, which observes itself."""


def world_tool(spec: ToolSpec, world: World) -> Tool[Any]:
    """Return the tool that does what the spec says, in this world."""
    runs = ToolRuns(spec, world)

    async def run(ctx: RunContext[Any], /, **arguments: Any) -> str:  # noqa: ANN401  # the model's
        text = given_by_name(arguments)
        with calling(ctx.tool_call_id):
            runs.begin(text)
            if runs.seconds:
                await asyncio.sleep(runs.seconds)
            return runs.end(text)

    about = spec.description or f"tool {spec.name}"
    schema = dict(ANY if spec.parameters is None else spec.parameters)
    return ScriptedAgentTool.from_schema(run, spec.name, about, schema, takes_ctx=True)
