"""A world's model and tools as openai-agents has them, in one run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from agents import FunctionTool, Model, ModelResponse, Usage
from agents.tool_context import ToolContext

from compat.engines.asking import WorldsModel, invoked
from compat.engines.frame import FrameRefusals
from compat.engines.openai_agents.messages import (
    Item,
    events_of,
    last_event,
    ours,
    output_of,
)
from refengine.context import Context
from refengine.messages import Message, MessageChunk, join_chunks
from refengine.model import ChatModel
from refengine.tools import Tool, ToolInfo


@dataclass(slots=True)
class RunDeps(FrameRefusals):
    """What belongs to one run: the framework hands it to hooks, filter and tools.

    ``answered`` and ``resulted`` tell of a message that is there, and wait; ``history``
    is what a request began with, and its answer; ``asked`` counts requests.
    """

    ctx: Context
    history: tuple[Message, ...]
    answered: Callable[[Message], Awaitable[None]] = field(init=False)
    resulted: Callable[[Message], Awaitable[None]] = field(init=False)
    results: dict[str, Message] = field(default_factory=dict[str, Message])
    asked: int = 0

    def all_called(self) -> None:
        """Take it that the calls of the last answer have ended, as the framework has.

        Their results stand in the order of the calls; a replay has none.
        """
        called = self.history[-1].tool_calls if self.history else ()
        found = (self.results.get(each.id) for each in called)
        self.history = (*self.history, *(each for each in found if each is not None))


def tool_of(tool: Tool) -> FunctionTool:
    """Return a world's tool as the framework takes one."""
    info = tool.info

    async def run(ctx: ToolContext[RunDeps], arguments: str) -> str:
        return await invoked(tool, ctx.context.ctx, ctx.tool_call_id, arguments)

    about = info.name, info.description, dict(info.parameters)
    return FunctionTool(*about, run, strict_json_schema=False)


def _info(tool: FunctionTool) -> ToolInfo:
    return ToolInfo(tool.name, tool.description, tool.params_json_schema)


class PlayedModel(Model):
    """Answers with what the world's model says."""

    def __init__(self, model: ChatModel, deps: RunDeps) -> None:
        self._model = WorldsModel(model)
        self._deps = deps

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: ANN401  # as the framework has it
        model_settings: object,
        tools: Iterable[Any],
        *_: object,
        **how: object,
    ) -> ModelResponse:
        """Return the whole answer."""
        del model_settings, how
        asked = self._asked(system_instructions, input, tools)
        answer = self._usual(await self._model.answer(*asked))
        return ModelResponse(output_of(answer), Usage(), None)

    async def stream_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: ANN401  # as the framework has it
        model_settings: object,
        tools: Iterable[Any],
        *_: object,
        **how: object,
    ) -> AsyncIterator[Any]:
        """Yield the events of an answer in its chunks."""
        del model_settings, how
        asked = self._asked(system_instructions, input, tools)
        seen: list[MessageChunk] = []
        async for chunk in await self._model.chunks(*asked):
            seen.append(chunk)
            for event in events_of(chunk):
                yield event
        yield last_event(self._usual(join_chunks(seen)))

    def _asked(
        self, instructions: str | None, items: Iterable[Item], tools: Iterable[Any]
    ) -> tuple[Context, tuple[Message, ...], tuple[ToolInfo, ...]]:
        first = (Message("system", instructions),) if instructions else ()
        shown = tuple(_info(each) for each in tools)
        return self._deps.ctx, (*first, *ours(items)), shown

    def _usual(self, answer: Message) -> Message:
        """Return an answer; refuses calls that the framework would take for one."""
        if len({call.id for call in answer.tool_calls}) < len(answer.tool_calls):
            self._deps.refuse("equal_call_ids", "an answer of the model")
        return answer
