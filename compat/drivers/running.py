"""One run of an agent that a driver plays: its events, in step with what is called.

A driver goes on while its events are on their way. So what it calls is answered only
when the consumer of the run has taken all events that were told before, or reads one of
them chunk by chunk, which may take its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from compat.drivers.state import AgentState, OpenRun
from compat.drivers.values import Wire, chunk_read, message_read
from refengine.events import AgentEvent, Chunk
from refengine.messages import Message, MessageChunk, join_chunks
from refengine.stream import StreamReader
from refengine.testing import doors
from refengine.testing.doors import Yielded


class RemoteRun:
    """What a consumer gets of a run."""

    def __init__(self, agent: AgentState, run: OpenRun, *, streams: bool) -> None:
        self._agent = agent
        self._run = run
        self._streams = streams
        self._failure: BaseException | None = None
        self._begun: list[StreamReader[Any]] = []
        """Results of which the first piece was read, so that they are closed."""

    async def play(self) -> Yielded:
        """Yield the events, and at last how the run ended."""
        driver = self._agent.driver
        driver.attach()
        try:
            ended = driver.start("run", self._params(), self._agent)
            ended.add_done_callback(lambda _: self._run.told.put_nowait(None))
            try:
                async for each in self._events():
                    yield each
                came_to = await self._came_to(ended.result())
            finally:
                await self._left(ended)
                for result in self._begun:
                    await result.aclose()
            yield self._outcome(came_to)
        finally:
            driver.detach()

    def _params(self) -> dict[str, object]:
        held = self._agent.held
        return {
            "agent": self._agent.number,
            "run": self._run.number,
            "messages": held.tell_all(self._run.given),
            "stream": self._streams,
            "ctx": self._agent.number_of(self._run.ctx, self._run),
        }

    async def _events(self) -> AsyncGenerator[AgentEvent, None]:
        while (told := await self._run.told.get()) is not None:
            if "error" in told:
                self._failure = self._failure or self._error(told["error"])
                self._run.took()
            elif "stream" in told:
                yield await self._streamed(told)
                self._run.has_read()
                self._run.has_read_result()
            else:
                yield self._whole(told)
                self._run.took()

    async def _left(self, ended: asyncio.Future[Any]) -> None:
        """Let go of the run; if its consumer left early, the engine has to end it."""
        self._run.end()
        driver = self._agent.driver
        if ended.done() or driver.over is not None:
            return
        params = {"agent": self._agent.number, "run": self._run.number}
        driver.start("cancel", params, self._agent)
        await asyncio.wait([ended])

    async def _came_to(self, said: Wire) -> Wire:
        """Return what the engine says the run came to, which may be a stream."""
        stream = said.get("stream")
        if stream is None:
            return said
        reader = self._agent.reader(stream)
        try:
            told = await anext(reader)
        finally:
            await reader.aclose()
        return {"answer": told.get("message"), "results": told.get("results")}

    def _outcome(self, came_to: Wire) -> Any:  # noqa: ANN401  # failed, or ended
        answer = came_to.get("answer")
        results = tuple(map(message_read, came_to.get("results") or ()))
        self._run.seen.take(results)
        if self._failure is None:
            return self._run.seen.ended(message_read(answer) if answer else None)
        if not isinstance(self._failure, Exception):
            raise self._failure
        return self._run.seen.failed(self._failure)

    # Events

    def _error(self, told: Wire) -> BaseException:
        return self._agent.error_of(told["message"], told.get("data") or {})

    @property
    def _path(self) -> tuple[str, ...]:
        return (self._agent.config.name,)

    def _whole(self, told: Wire) -> AgentEvent:
        message = message_read(told["message"])
        self._run.seen.tell(message)
        return doors.event_of(message, *self._path)

    async def _streamed(self, told: Wire) -> AgentEvent:
        """Return an event with a stream, which may wait for what is done next."""
        stream = told["stream"]
        if told.get("role") == "tool":
            self._run.reads_result()
            self._run.took()
            opened = self._agent.reader(stream)
            pieces: AsyncIterator[Wire] = opened
            call_id = told.get("call_id")
            if call_id is None:
                self._begun.append(opened)
                pieces, call_id = await _of_call(opened)
            source = self._results(pieces, call_id, self._run.seen.results)
            reader: StreamReader[Chunk] = StreamReader(source)
            return AgentEvent("tool", self._path, None, call_id, stream=reader)
        self._run.reads()
        self._run.took()
        answers: StreamReader[Chunk] = StreamReader(self._answers(stream))
        return AgentEvent("model", self._path, stream=answers)

    async def _answers(self, stream: int) -> AsyncGenerator[Chunk, None]:
        chunks: list[MessageChunk] = []
        try:
            async for piece in self._agent.reader(stream):
                chunks.append(chunk_read(piece.get("message") or {}))
                yield chunks[-1]
            self._run.seen.tell(join_chunks(chunks))
        finally:
            self._run.has_read()

    async def _results(
        self,
        pieces: AsyncIterator[Wire],
        call_id: str | None,
        results: dict[str | None, Message],
    ) -> AsyncGenerator[Chunk, None]:
        texts: list[str] = []
        name: str | None = None
        async for piece in pieces:
            texts.append(piece.get("text", ""))
            message: Wire = piece.get("message") or {}
            name = name or message.get("name")
            yield texts[-1]
        whole = Message("tool", "".join(texts), (), call_id, name)
        self._run.seen.tell(whole, results)


async def _of_call(
    pieces: AsyncIterator[Wire],
) -> tuple[AsyncIterator[Wire], str | None]:
    """Read whose call a result is of in its first piece, and give that back."""
    try:
        first = await anext(pieces)
    except StopAsyncIteration:
        return pieces, None
    except Exception as error:  # noqa: BLE001  # raised where the piece is read
        return _behind(pieces, error), None
    message: Wire = first.get("message") or {}
    return _behind(pieces, first), message.get("tool_call_id")


async def _behind(
    pieces: AsyncIterator[Wire], first: Wire | Exception
) -> AsyncGenerator[Wire, None]:
    if isinstance(first, Exception):
        raise first
    yield first
    async for each in pieces:
        yield each
