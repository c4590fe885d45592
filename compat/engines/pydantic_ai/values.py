"""A world's model and tools as pydantic-ai has them, in one run."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
)
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai import RunContext
from pydantic_ai.tools import Tool as TheirTool
from pydantic_ai.tools import ToolDefinition

from compat.engines.asking import WorldsModel, invoked
from compat.engines.frame import FrameRefusals
from refengine.context import Context
from refengine.messages import Message, MessageChunk, join_chunks
from refengine.model import ChatModel
from refengine.testing.pydantic_ai.model import AnsweringModel, ModelAsked
from refengine.tools import Tool, ToolInfo

NOTHING: Final = ()
"""A prompt of no content, where the framework wants one and there is none."""


@dataclass(slots=True)
class Deps(FrameRefusals):
    """What belongs to one run, which all hooks and tools of it are given.

    ``answered`` tells of an answer; ``asked`` counts the iterations begun.
    """

    ctx: Context
    answered: Callable[[Message], Awaitable[None]]
    asked: int = 0


class Written(dict[str, Any]):
    """Arguments of a call that a wrapper wrote, with the text that it wrote."""

    def __init__(self, text: str, meant: Mapping[str, Any]) -> None:
        super().__init__(meant)
        self.text = text


TEXT: Final[ContextVar[str]] = ContextVar("refengine_pydantic_ai_text")
"""How the arguments of the running call were written: a tool gets what they mean."""


def tool_of(tool: Tool, *, sequential: bool) -> TheirTool[Deps]:
    """Return a world's tool as the framework takes one."""
    info = tool.info
    schema: dict[str, Any] = {"type": "object", "properties": {}, **info.parameters}

    async def run(ctx: RunContext[Deps], /, **arguments: Any) -> str:  # noqa: ANN401  # the model's
        del arguments  # parsed; a world's tool takes the text
        return await invoked(tool, ctx.deps.ctx, ctx.tool_call_id or "", TEXT.get())

    about = info.name, info.description, schema
    found = TheirTool.from_schema(run, *about, takes_ctx=True, sequential=sequential)
    found.name = info.name  # which is the function's, where it is empty
    return found


class ConfiguredModel(AnsweringModel):
    """Answers with what the world's model says."""

    def __init__(
        self, model: ChatModel, tools: Mapping[str, ToolInfo], deps: Deps
    ) -> None:
        super().__init__()
        self._model = WorldsModel(model)
        self._tools = tools
        self._deps = deps

    async def answer(self, asked: ModelAsked) -> Message:
        """Return the whole answer."""
        shown = infos(self._tools, asked.tools)
        answer = await self._model.answer(self._deps.ctx, asked.messages, shown)
        return usual(self._deps, answer)

    async def chunks(self, asked: ModelAsked) -> AsyncIterator[MessageChunk]:
        """Return what yields the answer in its chunks."""
        shown = infos(self._tools, asked.tools)
        return self._read(
            await self._model.chunks(self._deps.ctx, asked.messages, shown)
        )

    async def _read(
        self, chunks: AsyncIterator[MessageChunk]
    ) -> AsyncGenerator[MessageChunk, None]:
        seen: list[MessageChunk] = []
        async for chunk in chunks:
            seen.append(chunk)
            yield chunk
        usual(self._deps, join_chunks(seen))


def usual(deps: Deps, answer: Message) -> Message:
    """Return an answer; refuses calls that the framework would take for others."""
    for call in answer.tool_calls:
        deps.parsed(call)
    if len({call.id for call in answer.tool_calls}) < len(answer.tool_calls):
        deps.refuse("equal_call_ids", "an answer of the model")
    return answer


def infos(
    known: Mapping[str, ToolInfo], definitions: Iterable[ToolDefinition]
) -> tuple[ToolInfo, ...]:
    """Return what the model is told about tools."""
    return tuple(known[each.name] for each in definitions)
