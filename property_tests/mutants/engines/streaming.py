"""Engines that are wrong about streams against whole results (STR)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from property_tests.mutants.around import configured
from property_tests.mutants.engines import lists
from property_tests.mutants.engines.tools import planned
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch, wrong
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.errors import StreamBrokenOffError
from refengine.messages import Message, MessageChunk
from refengine.stream import StreamReader
from refengine.tools import ToolMeta

Chunks: TypeAlias = AsyncIterator[Given]  # of texts or of messages


def _as_if(*, streaming: bool) -> Patch:
    """Take tools with both kinds as in runs of one mode."""

    def replaced(right: Right) -> Right:
        def endpoint(self: Given, _: bool) -> Given:
            return right(self, streaming)

        return endpoint

    return patch("tool.endpoint", replaced)


class _Joined:
    """An invokable tool made of a streamable one, by joining what it streams."""

    def __init__(self, tool: Given) -> None:
        self.info = tool.info
        self._stream = tool.stream

    async def invoke(self, *given: object) -> str:
        return "".join([chunk async for chunk in await self._stream(*given)])


def _joined_early(_: Given, left: Given) -> Given:
    return replace(
        left,
        runnable=tuple(map(_joined, left.runnable)),
        registered=tuple(map(_joined, left.registered)),
    )


def _joined(meta: ToolMeta) -> ToolMeta:
    only_streams = getattr(meta.tool, "invoke", None) is None
    return replace(meta, tool=_Joined(meta.tool)) if only_streams else meta


def _shown(change: Callable[[Chunks], Chunks], *kinds: str) -> Patch:
    """Show the consumer other chunks, of answers or of results or of both."""

    def replaced(right: Right) -> Right:
        def reader(self: Given) -> Given:
            kind = "model" if self.scope.tool is None else "tool"
            found = right(self)
            return StreamReader(change(found)) if kind in kinds else found

        return reader

    return patch("stream.reader", replaced)


async def _quiet_end(chunks: Chunks) -> Chunks:
    """Let a stream that breaks off end, for the consumer, as if it were whole."""
    try:
        async for chunk in chunks:
            yield chunk
    except Exception:  # noqa: BLE001  # which the run still raises
        return


async def _spaceless(chunks: Chunks) -> Chunks:
    async for chunk in chunks:
        other = not isinstance(chunk, MessageChunk)
        yield chunk if other else replace(chunk, content=chunk.content.rstrip())


def _kept(change: Callable[[Sequence[Given]], Sequence[Given]], kind: str) -> Patch:
    """Let the run keep other chunks of answers, or of results."""

    def replaced(right: Right) -> Right:
        async def drain(self: Given) -> Given:
            chunks = await right(self)
            of_tool = self.scope.tool is not None
            return change(chunks) if of_tool == (kind == "tool") else chunks

        return drain

    return patch("stream.drain", replaced)


def _first_and_last(chunks: Sequence[Given]) -> Sequence[Given]:
    return [*chunks[:1], *chunks[1:][-1:]]


def _last(chunks: Sequence[Given]) -> Sequence[Given]:
    return chunks[-1:]


def _stripped(chunks: Sequence[MessageChunk]) -> Sequence[MessageChunk]:
    """Strip each chunk of an answer that comes in many."""
    if len(chunks) < 3:  # few enough to look right in most tests
        return chunks
    return [replace(each, content=each.content.strip()) for each in chunks]


def _without_arguments(right: Right) -> Right:
    """Give tools no arguments in a streaming run."""

    async def opened(self: Given, ctx: Context, streaming: bool) -> None:
        if streaming:
            self.input.arguments = ""
        await right(self, ctx, streaming)

    return opened


class _OnlyInvoked:
    """A model that answers in one piece, whatever else it can."""

    def __init__(self, model: Given) -> None:
        self.invoke = model.invoke


def _never_streamed(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
    if getattr(config.model, "invoke", None) is None:
        return config
    return replace(config, model=_OnlyInvoked(config.model))


def _left_open() -> Callable[[Right], Right]:
    """Stop at the first chunk, and keep the source."""
    kept: list[object] = []

    def replaced(_: Right) -> Right:
        async def drain(self: Given) -> Given:
            kept.append(self)
            async for _ in self.reader():
                break
            return self.chunks

        return drain

    return replaced


def _never_closes(_: Right) -> Right:
    async def close(_: Given) -> None:
        """Close nothing."""

    return close


async def _first(chunks: Chunks) -> Chunks:
    async for chunk in chunks:
        yield chunk
        return


def _without_tools(right: Right) -> Right:
    """Tell the model of no tools in a streaming run."""

    async def open_answer(self: Given, ctx: Context) -> Given:
        plan, self.plan = self.plan, replace(self.plan, shown=())
        try:
            return await right(self, ctx)
        finally:
            self.plan = plan

    return open_answer


def _without_answer(right: Right) -> Right:
    """Forget the answer of a streaming run."""

    def route(self: Given, response: Message) -> Given:
        calls = right(self, response)
        if self.streaming:
            self.answer = None
        return calls

    return route


async def _texts(chunks: Chunks) -> Chunks:
    async for chunk in chunks:
        other = not isinstance(chunk, MessageChunk)
        yield chunk if other else replace(chunk, tool_calls=())


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
        "both-kinds-invoked",
        "A tool with both kinds is invoked in a streaming run too.",
        "STR-001",
        _as_if(streaming=False),
    ),
    broken(
        "both-kinds-streamed",
        "A tool with both kinds is streamed in a run that is invoked.",
        "STR-001",
        _as_if(streaming=True),
    ),
    broken(
        "streams-joined-early",
        "A streamable tool is made an invokable one, which other wrappers wrap.",
        "STR-002",
        planned(_joined_early),
    ),
    broken(
        "streams-unwrapped",
        "The last streamable wrapper is never entered.",
        "STR-003",
        lists.layers(lambda found: found[:-1], "streamable"),
    ),
    broken(
        "answer-breaks-off-quietly",
        "An answer that breaks off looks whole to who reads its stream.",
        "STR-008",
        _shown(_quiet_end, "model"),
    ),
    broken(
        "history-misses-chunks",
        "The history keeps the first and the last chunk of a streamed answer.",
        "STR-010",
        _kept(_first_and_last, "model"),
    ),
    broken(
        "history-keeps-last-chunk",
        "The history keeps the last chunk of a streamed result.",
        "STR-011",
        _kept(_last, "tool"),
    ),
    broken(
        "streamed-without-arguments",
        "In a streaming run tools are executed without arguments.",
        "STR-013",
        patch("call.open", _without_arguments),
    ),
    broken(
        "many-chunks-stripped",
        "An answer in three chunks or more loses the spaces between them.",
        "STR-016",
        _kept(_stripped, "model"),
    ),
    broken(
        "shown-chunks-stripped",
        "The consumer misses every space that a chunk ends on.",
        "STR-017",
        _shown(_spaceless, "model"),
    ),
    wrong(
        "model-never-streamed",
        "In a streaming run the model is invoked, and its answer shown whole.",
        "STR-004",
        configured(_never_streamed),
    ),
    broken(
        "streams-left-open",
        "A stream is read to its first chunk, and never closed.",
        "STR-007",
        _shown(_first, "model", "tool"),
        patch("stream.drain", _left_open()),
        patch("stream.close", _never_closes),
    ),
    broken(
        "streamed-without-tools",
        "In a streaming run the model is told of no tools.",
        "STR-012",
        patch("loop.open_answer", _without_tools),
    ),
    broken(
        "streamed-without-answer",
        "A streaming run ends without an answer.",
        "STR-014",
        patch("loop.route", _without_answer),
    ),
    broken(
        "streamed-calls-not-shown",
        "The stream of an answer brings its text and not its calls.",
        "STR-015",
        _shown(_texts, "model"),
    ),
    broken(
        "reader-closes-the-stream",
        "A stream that its consumer closes is closed for the run, too.",
        "STR-010",
        patch("stream.reader", _closed_by_its_reader),
        patch("stream.drain", _what_there_is),
    ),
)
