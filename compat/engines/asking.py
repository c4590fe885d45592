"""A world's model and tools as a door asks them; what they raise is noted as theirs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any, Final, cast

from refengine.context import Context
from refengine.errors import ModelError, ToolError
from refengine.messages import Message, MessageChunk
from refengine.model import ChatModel, invoker, streamer
from refengine.stream import StreamReader
from refengine.testing.blaming import blame
from refengine.testing.doors import at_call
from refengine.tools import NO_OPTIONS, Tool, ToolInfo


class WorldsModel:
    """A world's model, asked for a whole answer or for one in chunks."""

    def __init__(self, model: ChatModel) -> None:
        self._invoke: Final = invoker(model)
        self._open: Final = streamer(model)

    async def answer(
        self, ctx: Context, messages: Sequence[Message], tools: Sequence[ToolInfo]
    ) -> Message:
        """Return the whole answer."""
        try:
            return await self._invoke(ctx, messages, tools, NO_OPTIONS)
        except Exception as error:
            blame(error, ModelError(error))
            raise

    async def chunks(
        self, ctx: Context, messages: Sequence[Message], tools: Sequence[ToolInfo]
    ) -> AsyncIterator[MessageChunk]:
        """Return what yields the answer in its chunks."""
        try:
            reader = await self._open(ctx, messages, tools, NO_OPTIONS)
        except Exception as error:
            blame(error, ModelError(error))
            raise
        return _read(reader)


async def _read(
    reader: StreamReader[MessageChunk],
) -> AsyncGenerator[MessageChunk, None]:
    try:
        async for chunk in reader:
            yield chunk
    except Exception as error:
        blame(error, ModelError(error))
        raise


async def invoked(tool: Tool, ctx: Context, call_id: str, arguments: str) -> str:
    """Return the result of a world's tool; ``ctx`` is the run's."""
    call: Any = cast("Any", tool).invoke  # one that only streams is refused at build
    try:
        return str(await call(at_call(ctx, ctx, call_id), arguments, NO_OPTIONS))
    except Exception as error:
        blame(error, ToolError(tool.info.name, call_id, error))
        raise
