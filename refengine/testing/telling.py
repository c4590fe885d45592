"""How a door tells what its engine does: to the end, in lock-step, in pieces.

A run leaves a history however it ends, so a door says once how to read it:

    def start(messages, stream, options):
        agent = theirs.Agent(config.model, config.tools_config.tools)
        left = lambda: doors.ended(agent.history, iterations=agent.model_calls)
        return to_the_end(agent.run(messages), left, config.name)

An engine whose run is a task of its own, or calls listeners, goes ahead of whoever
reads its events. ``in_lock_step`` lets it wait for them: the capability ``lock_step``.

    told = in_lock_step(lambda tell: agent.run(messages, on_message=tell))
    return to_the_end(told, left, config.name)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Final, Generic, TypeAlias, TypeVar

from refengine.events import AgentEvent, Chunk, Notice
from refengine.messages import Message, ToolCall
from refengine.plan import OnNotice
from refengine.run import RunResult
from refengine.stream import StreamReader
from refengine.testing.doors import Yielded, event_of, failed
from refengine.tools import ToolCallInput

T = TypeVar("T")
Tell: TypeAlias = Callable[[T], Awaitable[None]]
"""Tells the consumer of a run something; returns when it has come back for more."""
Told: TypeAlias = AsyncGenerator["AgentEvent | Message", None]
"""What a run tells: events, or messages of which events are made."""
TAKES_A_GENERATOR: Final = (
    "it takes what an async generator function returns, as in"
    " to_the_end(agent.run(messages), left, config.name)"
)
Left: TypeAlias = Callable[[], RunResult]
"""Says how a run ended, from the history that it has left: ``doors.ended``."""


def tell_ignored(
    on_notice: OnNotice, call: ToolCall, inputs: Sequence[ToolCallInput]
) -> None:
    """Tell that a wrapper asked for another name or id of a call, in vain, if one did.

    ``inputs`` are what the outermost wrapper was given, and then what each execution of
    the tool was: wrappers may change the one, or hand on another.
    """
    outermost, *innermost = inputs
    for each in (outermost, *reversed(innermost)):
        if (each.name, each.call_id) != (call.name, call.id):
            data = {"name": each.name, "call_id": each.call_id}
            on_notice(Notice("ignored_change", data, call.id))
            return


async def to_the_end(told: Told, left: Left, *run_path: str) -> Yielded:
    """Yield what a run tells, and then how it ended, also where it failed.

    ``left`` is asked once, at the end. What ``told`` raises becomes the error of a run
    that keeps the history as it is then: it has to be that from before what failed.
    """
    if not hasattr(told, "aclose"):
        what = type(told).__name__
        raise TypeError(f"to_the_end was given a {what}: {TAKES_A_GENERATOR}")
    try:
        async with aclosing(told):
            async for each in told:
                if isinstance(each, Message):
                    yield event_of(each, *run_path)
                else:
                    yield each
    except Exception as error:  # noqa: BLE001  # becomes the end of the run
        end = left()
        yield failed(error, end.messages, iterations=end.iterations, first=end.first)
        return
    yield left()


async def in_lock_step(
    work: Callable[[Tell[T]], Awaitable[object]],
) -> AsyncGenerator[T, None]:
    """Yield what a task tells; it goes on when the consumer comes back for more.

    ``work`` is given ``tell``, to be awaited with each event. What it raises comes out
    here, behind all that it told. Who leaves early cancels the task, and waits for it.

    An event with a stream is looked at while the stream is filled, so a task that fills
    it itself tells of it beside that: ``asyncio.ensure_future(tell(event))``, which it
    awaits when the stream has ended.
    """
    waiting: asyncio.Queue[tuple[T, asyncio.Event] | None] = asyncio.Queue()

    async def tell(event: T) -> None:
        taken = asyncio.Event()
        waiting.put_nowait((event, taken))
        await taken.wait()

    task = asyncio.ensure_future(work(tell))
    task.add_done_callback(lambda _: waiting.put_nowait(None))
    try:
        while (told := await waiting.get()) is not None:
            event, taken = told
            yield event
            taken.set()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    task.result()


class Pieces(Generic[T]):
    """A stream that is filled from outside, as a listener of tokens does.

    ``reader`` is what the event takes; it gives each piece as soon as that is there.
    """

    def __init__(self) -> None:
        self._queue: asyncio.Queue[T | None] = asyncio.Queue()
        self._error: Exception | None = None
        self._ended = False
        self.reader: StreamReader[T] = StreamReader(self._pieces())

    def add(self, piece: T) -> None:
        """Add the next piece."""
        self._queue.put_nowait(piece)

    def end(self, error: Exception | None = None) -> None:
        """End the stream; with an error, its reader raises that. Only once."""
        if not self._ended:
            self._ended, self._error = True, error
            self._queue.put_nowait(None)

    async def _pieces(self) -> AsyncGenerator[T, None]:
        while (piece := await self._queue.get()) is not None:
            yield piece
        if self._error is not None:
            raise self._error


class StreamedAnswers:
    """The answers of a run that streams, each told of with its first piece."""

    def __init__(self, tell: Tell[AgentEvent | Message], *run_path: str) -> None:
        self._tell = tell
        self._run_path = run_path
        self._pieces: Pieces[Chunk] | None = None
        self._told: asyncio.Future[None] | None = None

    def add(self, piece: Chunk) -> None:
        """Add a piece to the answer, which begins with it if none has begun."""
        self._begun().add(piece)

    async def end(self, error: Exception | None = None) -> None:
        """End the answer, and wait until it was read; one of no pieces is told, too.

        With an error its reader raises that, and an answer that has not begun is none.
        """
        if error is None:
            self._begun()
        pieces, told = self._pieces, self._told
        self._pieces = self._told = None
        if pieces is not None and told is not None:
            pieces.end(error)
            await told

    def _begun(self) -> Pieces[Chunk]:
        if self._pieces is None:
            self._pieces = Pieces()
            event = AgentEvent("model", self._run_path, stream=self._pieces.reader)
            self._told = asyncio.ensure_future(self._tell(event))
        return self._pieces
