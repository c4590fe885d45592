"""Scripted streams and tools for the stream loop, and a trace of all that is told."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import fields
from typing import Any

from compat.dialects.stream_loop import (
    LinearProcessor,
    LoopProcessor,
    ResponseCallbacks,
    ToolOutput,
)
from refengine.messages import Message, MessageChunk, ToolCallChunk
from refengine.stream import StreamReader
from refengine.testing.clock import Ids
from refengine.tools import ToolInfo

NAMES = tuple(each.name for each in fields(ResponseCallbacks))


class Streams:
    """Answers with the next list of chunks: texts, pieces, errors, or seconds to wait.

    A piece is a ToolCallChunk; after the last list it says ``end``.
    """

    def __init__(self, *script: Sequence[object]) -> None:
        self.script = list(script)
        self.requests: list[tuple[Message, ...]] = []
        self.closed = 0

    async def stream(self, ctx, messages, tools, options) -> StreamReader[MessageChunk]:
        self.requests.append(tuple(messages))
        given = self.script.pop(0) if self.script else ["end"]
        return StreamReader(self._chunks(given))

    async def _chunks(self, given: Sequence[object]) -> AsyncIterator[MessageChunk]:
        try:
            for each in given:
                if isinstance(each, BaseException):
                    raise each
                if isinstance(each, (int, float)):
                    await asyncio.sleep(each)
                else:
                    yield chunk(each)
        finally:
            self.closed += 1

    @property
    def asked(self) -> list[str]:
        """The last message of each request."""
        return [each[-1].content for each in self.requests]


def chunk(given: object) -> MessageChunk:
    if isinstance(given, MessageChunk):
        return given
    if isinstance(given, ToolCallChunk):
        return MessageChunk(tool_calls=(given,))
    assert isinstance(given, str)
    return MessageChunk(given)


def piece(arguments="", index: int | None = 0, name="", call_id=""):
    return ToolCallChunk(index, call_id, name, arguments)


def call(name, arguments="{}", call_id="c1"):
    """Return a whole call in one piece."""
    return ToolCallChunk(None, call_id, name, arguments)


class Gives:
    """A tool that waits, then gives or raises what it was made with."""

    def __init__(self, name, given: object = "ok", seconds: float = 0) -> None:
        self.info = ToolInfo(name)
        self.given, self.seconds = given, seconds
        self.arguments: list[str] = []
        self.ended: list[str] = []

    async def invoke(self, ctx, arguments, options) -> Any:
        self.arguments.append(arguments)
        try:
            await asyncio.sleep(self.seconds)
        except BaseException:
            self.ended.append("cancelled")
            raise
        self.ended.append("returned")
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


def again(result: Any = 1) -> Any:
    """Return an output that asks for another round."""
    return ToolOutput(result, requires_follow_up=True)


class Told:
    """Every callback's facts in order; snapshots as the parts they then have."""

    def __init__(self, *names: str, raising: Sequence[str] = ()) -> None:
        self.facts: list[tuple[str, object]] = []
        self._raising = raising
        self.callbacks = ResponseCallbacks(
            **{each: self._noting(each) for each in names or NAMES}
        )

    def _noting(self, name: str) -> Any:
        def note(*facts: object) -> None:
            first: Any = facts[0]
            fact = tuple(first) if name == "on_parts_change" else first
            self.facts.append((name, facts if len(facts) > 1 else fact))
            if name in self._raising:
                raise ValueError(f"{name} fails")

        return note

    def of(self, name: str) -> list[Any]:
        return [fact for each, fact in self.facts if each == name]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.facts]

    @property
    def result(self) -> Any:
        """How it ended, which is told exactly once."""
        [found] = self.of("on_end")
        return found


def quiet() -> logging.Logger:
    return logging.getLogger("tests.loop")


def loop_of(model, **options) -> LoopProcessor:
    return LoopProcessor(model, new_id=Ids("made"), logger=quiet(), **options)


def linear_of(model, **options) -> LinearProcessor:
    return LinearProcessor(model, new_id=Ids("made"), logger=quiet(), **options)
