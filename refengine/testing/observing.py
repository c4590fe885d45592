"""A subject's own tool inside one that puts down its executions, as a world's does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

from refengine.context import Context
from refengine.interrupts import is_reentry
from refengine.stream import StreamReader
from refengine.testing.recorder import Recorder, snapshot
from refengine.testing.scripted import RecordingTool
from refengine.tools import Options, ToolMeta


def observed(meta: ToolMeta, recorder: Recorder) -> ToolMeta:
    """Return the entry with its tool observed; a world's tool observes itself."""
    if isinstance(meta.tool, RecordingTool) and meta.tool.recorder is recorder:
        return meta
    return replace(meta, tool=ObservedTool(meta.tool, recorder))


class ObservedTool:
    """Has the methods of the tool inside it, and the very same info."""

    def __init__(self, tool: Any, recorder: Recorder) -> None:  # noqa: ANN401  # a Tool, with methods that its protocol leaves open
        self.info = tool.info
        self._tool = tool
        self._recorder = recorder
        if getattr(tool, "invoke", None) is not None:
            self.invoke = self._invoke
        if getattr(tool, "stream", None) is not None:
            self.stream = self._stream

    async def _invoke(self, ctx: Context, arguments: str, options: Options) -> str:
        self._begin("invoke", ctx, arguments, options)
        try:
            result = cast("str", await self._tool.invoke(ctx, arguments, options))
        except Exception as error:
            self._failed(ctx, error)
            raise
        seen = {"result": snapshot(result)}
        self._recorder.add("tool_end", seen, ctx.tool_call_id)
        return result

    async def _stream(
        self, ctx: Context, arguments: str, options: Options
    ) -> StreamReader[str]:
        self._begin("stream", ctx, arguments, options)
        try:
            reader = await self._tool.stream(ctx, arguments, options)
        except Exception as error:
            self._failed(ctx, error)
            raise
        # Anything else is the engine's to refuse, and not ours to make a stream of.
        if not isinstance(reader, StreamReader):
            return cast("StreamReader[str]", reader)
        return StreamReader(self._chunks(ctx, cast("StreamReader[str]", reader)))

    async def _chunks(
        self, ctx: Context, reader: StreamReader[str]
    ) -> AsyncIterator[str]:
        add, call_id = self._recorder.add, ctx.tool_call_id
        chunks: list[str] = []
        try:
            async for chunk in reader:
                add("tool_chunk", {"chunk": snapshot(chunk)}, call_id)
                chunks.append(chunk)
                yield chunk
            add("tool_end", {"result": "".join(map(str, chunks))}, call_id)
        except Exception as error:
            self._failed(ctx, error)
            raise
        finally:
            await reader.aclose()
            add("stream_close", {"of": "tool"}, call_id)

    def _begin(self, mode: str, ctx: Context, arguments: str, options: Options) -> None:
        data: dict[str, object] = {
            "name": self.info.name,
            "arguments": arguments,
            "implementation": f"the subject's: {self.info.description}",
            "mode": mode,
            "options": snapshot(options),
            "ctx": ctx.get("h", "-"),
        }
        if is_reentry():
            data["reentry"] = True
        self._recorder.add("tool_start", data, ctx.tool_call_id)

    def _failed(self, ctx: Context, error: Exception) -> None:
        text = type(error).__name__
        self._recorder.add("tool_error", {"error": text}, ctx.tool_call_id)
