"""Engines that are wrong about streams against whole results (STR)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch
from refengine.errors import StreamBrokenOffError
from refengine.stream import StreamReader
from refengine.tools import ToolMeta

Chunks: TypeAlias = AsyncIterator[Given]  # of texts or of messages


class _Joined:
    """An invokable tool made of a streamable one, by joining what it streams."""

    def __init__(self, tool: Given) -> None:
        self.info = tool.info
        self._stream = tool.stream

    async def invoke(self, *given: object) -> str:
        return "".join([chunk async for chunk in await self._stream(*given)])


def _joined_early(right: Right) -> Right:
    async def plan(self: Given, *given: Given) -> Given:
        left = await right(self, *given)
        return replace(
            left,
            runnable=tuple(map(_joined, left.runnable)),
            registered=tuple(map(_joined, left.registered)),
        )

    return plan


def _joined(meta: ToolMeta) -> ToolMeta:
    only_streams = getattr(meta.tool, "invoke", None) is None
    return replace(meta, tool=_Joined(meta.tool)) if only_streams else meta


def _closed_by_its_reader(right: Right) -> Right:
    async def read(stream: Given) -> Chunks:
        try:
            async for chunk in right(stream):
                yield chunk
        finally:
            await stream.close()

    def opened(stream: Given) -> StreamReader[Any]:
        return StreamReader(read(stream))

    return opened


def _what_there_is(right: Right) -> Right:
    """Take a stream that broke off for one that came to its end."""

    async def drain(self: Given) -> Given:
        with suppress(StreamBrokenOffError):
            await right(self)
        return self.chunks

    return drain


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "streams-joined-early",
        "A streamable tool is made an invokable one, which other wrappers wrap.",
        "STR-002",
        patch("planner.plan", _joined_early),
    ),
    broken(
        "reader-closes-the-stream",
        "A stream that its consumer closes is closed for the run, too.",
        "STR-010",
        patch("stream.reader", _closed_by_its_reader),
        patch("stream.drain", _what_there_is),
    ),
)
