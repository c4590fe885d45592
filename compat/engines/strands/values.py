"""A world's model and tools as strands has them, in one run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from strands.models import Model
from strands.types.tools import AgentTool, ToolGenerator, ToolSpec, ToolUse

from compat.engines.asking import WorldsModel, invoked
from compat.engines.frame import FrameRefusals
from compat.engines.strands.messages import (
    Item,
    call_events,
    named_result,
    our_call,
    ours,
    stopped,
    text_event,
)
from refengine.context import Context
from refengine.messages import Message, MessageChunk, chunk_of, join_chunks
from refengine.model import ChatModel
from refengine.tools import Tool, ToolInfo


@dataclass(slots=True)
class StrandsDeps(FrameRefusals):
    """What belongs to one run: its agent is made for it, with these.

    ``said`` is the last answer of the world's model, ``asked`` counts iterations, and
    ``tools`` has what the model is told of each tool.
    """

    ctx: Context
    streams: bool
    tools: dict[str, ToolInfo] = field(default_factory=dict[str, ToolInfo], init=False)
    said: Message = field(default=Message("assistant"), init=False)
    asked: int = 0

    def shown(self, specs: Iterable[Mapping[str, Any]] | None) -> tuple[ToolInfo, ...]:
        """Return what the model is told about tools."""
        return tuple(self.tools[each["name"]] for each in specs or ())


class WorldsTool(AgentTool):
    """A tool of a world; one of its name may replace it, as one of ``@tool`` may."""

    def __init__(self, tool: Tool, deps: StrandsDeps) -> None:
        super().__init__()
        self._tool = tool
        self._deps = deps
        deps.tools[tool.info.name] = tool.info

    @property
    def tool_type(self) -> str:
        """What kind of tool it is."""
        return "world"

    @property
    def supports_hot_reload(self) -> bool:
        """Tell that another one of its name may take its place."""
        return True

    @property
    def tool_name(self) -> str:
        """Its name."""
        return self._tool.info.name

    @property
    def tool_spec(self) -> ToolSpec:
        """What the model is told of it."""
        info = self._tool.info
        schema: Any = {"json": dict(info.parameters)}
        return {
            "name": info.name,
            "description": info.description,
            "inputSchema": schema,
        }

    async def stream(
        self, tool_use: ToolUse, invocation_state: dict[str, Any], **_: object
    ) -> ToolGenerator:
        """Yield its result."""
        del invocation_state
        call = our_call(tool_use)
        text = await invoked(self._tool, self._deps.ctx, call.id, call.arguments)
        yield named_result(call.id, text, self.tool_name)


class StrandsModel(Model):
    """Answers with what the world's model says; every answer streams."""

    def __init__(self, model: ChatModel, deps: StrandsDeps) -> None:
        self._model = WorldsModel(model)
        self._deps = deps

    def update_config(self, **_: object) -> None:
        """Change nothing: there is no configuration."""

    def get_config(self) -> dict[str, Any]:
        """Return nothing: there is no configuration."""
        return {}

    def structured_output(self, *_: object, **__: object) -> NoReturn:
        """Refuse what no world asks for."""
        raise NotImplementedError

    async def stream(
        self,
        messages: Any,  # noqa: ANN401  # as the framework has it
        tool_specs: list[ToolSpec] | None = None,
        system_prompt: str | None = None,
        **_: object,
    ) -> AsyncGenerator[Any, None]:
        """Yield the events of an answer."""
        first = (Message("system", system_prompt),) if system_prompt else ()
        asked = (*first, *ours(messages)), self._deps.shown(tool_specs)
        seen: list[MessageChunk] = []
        async for event in blocks_of(self._noted(asked, seen)):
            yield event
        answer = self._deps.said = join_chunks(seen)
        for call in answer.tool_calls:
            self._deps.parsed(call)
        yield {"messageStop": {"stopReason": stopped(answer)}}

    async def _noted(
        self, asked: tuple[Any, Any], seen: list[MessageChunk]
    ) -> AsyncIterator[MessageChunk]:
        if self._deps.streams:
            async for chunk in await self._model.chunks(self._deps.ctx, *asked):
                seen.append(chunk)
                yield chunk
        else:
            seen.append(chunk_of(await self._model.answer(self._deps.ctx, *asked)))
            yield seen[0]


async def blocks_of(chunks: AsyncIterator[MessageChunk]) -> AsyncIterator[Item]:
    """Yield the blocks that an answer in pieces makes.

    The framework assembles one call at a time, so the first call's pieces are told as
    they come, and those of the others when it has ended, as its own models do.
    """
    yield {"messageStart": {"role": "assistant"}}
    calls: list[list[Item]] = []
    by_index: dict[int | None, list[Item]] = {}
    async for chunk in chunks:
        if chunk.content or not chunk.tool_calls:
            yield text_event(chunk.content)
        for piece in chunk.tool_calls:
            begins = piece.index is None or piece.index not in by_index
            if begins and not calls:
                yield {"contentBlockStop": {}}  # of the text before
            if begins:
                by_index[piece.index] = []
                calls.append(by_index[piece.index])
            own = by_index[piece.index]
            at = next(at for at, each in enumerate(calls) if each is own)
            own += call_events(piece, at, begins=begins)
            if own is calls[0]:
                for event in own:
                    yield event
                own.clear()
    yield {"contentBlockStop": {}}
    for held in calls[1:]:
        for event in held:
            yield event
        yield {"contentBlockStop": {}}
