"""One run of an agent: its events, and how it ended (contract §0)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self

from refengine.awaiting import CancellationWatch
from refengine.context import Context
from refengine.events import AgentEvent
from refengine.loop import Loop, Status
from refengine.messages import History, Json, Message
from refengine.tools import Options

if TYPE_CHECKING:
    from refengine.compiled import CompiledAgent
    from refengine.interrupts import Pending
    from refengine.plan import Plan
    from refengine.resume.checkpoint import Saved


class RunnableAgent(Protocol):
    """What a run needs of the agent that it is a run of."""

    machine: CompiledAgent

    def run_path(self, ctx: Context | None) -> tuple[str, ...]:
        """Return the path of a run that is given this context."""
        ...

    async def planned(
        self, messages: Sequence[Message], ctx: Context | None, options: Options
    ) -> tuple[Plan, Context]:
        """Return what a run goes by, and the context it starts with."""
        ...


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. ``messages`` is the whole history, ``answer`` its result."""

    status: Status
    messages: History
    answer: Message | None
    events: tuple[AgentEvent, ...]
    iterations: int
    first: Message | None = None
    """The system message that the engine itself put first, for ``Thread``."""
    interrupts: tuple[Pending, ...] = ()
    """What an interrupted run asks; ``Agent.resume`` is given the answers."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Under which key a run is kept, and whether one that is kept there goes on.

    ``answers`` are to what it asks; None lets all that waits go on.
    """

    key: str | None = None
    resumes: bool = False
    answers: Mapping[str, Json] | None = None


NOT_KEPT: Final = Kept()


class Run:
    """One run: iterate over its events, then ask for the result.

    Leaving ``async with`` early stops the run and closes what it opened. ``outcome``
    is set once the run is over, also after an error, which is then in ``error``.
    Where a run was left or cancelled its status is ``cancelled``, and each call of its
    last answer has a result, which says so if it is none.
    """

    __slots__ = (
        "_agent",
        "_ctx",
        "_events",
        "_input",
        "_keep",
        "_loop",
        "_options",
        "_streaming",
        "_watch",
        "error",
        "outcome",
    )

    def __init__(
        self,
        agent: RunnableAgent,
        messages: tuple[Message, ...],
        ctx: Context | None,
        options: Options,
        *,
        streaming: bool,
        kept: Kept = NOT_KEPT,
    ) -> None:
        self._keep = kept
        self._agent = agent
        self._input = messages
        self._ctx = ctx
        self._options = options
        self._streaming = streaming
        self._watch = CancellationWatch()
        self._loop: Loop | None = None
        self._events: AsyncGenerator[AgentEvent, None] | None = None
        self.error: Exception | None = None
        self.outcome: RunResult | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.outcome is None:
            await self.aclose()

    def __aiter__(self) -> Run:
        return self

    async def __anext__(self) -> AgentEvent:
        event = await self._go_on(to_the_end=False) if self.outcome is None else None
        if event is None:
            raise StopAsyncIteration
        return event

    async def result(self) -> RunResult:
        """Run to the end and return the result; raises the error that ended it."""
        if self.outcome is None:
            await self._go_on(to_the_end=True)
        if self.error is not None:
            raise self.error
        if self.outcome is None:
            raise AssertionError
        return self.outcome

    async def aclose(self) -> None:
        """Stop the run where it is; after its end this does nothing."""
        if self.outcome is not None:
            return
        self._watch.begin()
        try:
            if self._events is not None:
                await self._events.aclose()
            if self._watch.cancelled:
                await self._watch.come_out()
        finally:
            asks = self._loop is not None and self._loop.status == "interrupted"
            self._end("interrupted" if asks else "cancelled")

    async def _go_on(self, *, to_the_end: bool) -> AgentEvent | None:
        """Return the next event, None if the run is over; raises a cancellation.

        Where nobody wants the events the run goes on at once: to ask for each one anew
        made a run 6 % slower.
        """
        watch = self._watch
        watch.had = watch.count()
        try:
            async for event in self._events or await self._start():
                if watch.count() > watch.had:
                    await self._break_off()
                if not to_the_end:
                    return event
                watch.had = watch.count()
        except Exception as error:  # noqa: BLE001  # becomes the run's last event
            if watch.cancelled:
                await self._come_out(error)
            return self._fail(error)
        except BaseException:
            self._end("cancelled")
            raise
        self._end()
        return None

    async def _come_out(self, error: Exception) -> None:
        """Raise the CancelledError that an error was made of; returns if none was."""
        try:
            await self._watch.come_out()
        except asyncio.CancelledError as came:
            self._end("cancelled")
            raise came from error

    async def _break_off(self) -> None:
        """Raise the CancelledError that somebody swallowed, once all is closed."""
        try:
            await self._watch.come_out()
        except asyncio.CancelledError:
            if self._events is not None:
                await self._events.aclose()
            raise

    async def _start(self) -> AsyncGenerator[AgentEvent, None]:
        self._watch.begin()
        machine, saved = self._agent.machine, None
        if self._keep.resumes:
            saved = await self._saved()
            self._input = saved.given
        plan, ctx = await self._agent.planned(self._input, self._ctx, self._options)
        if self._watch.count() > self._watch.had:
            await self._watch.come_out()
        self._loop = loop = Loop(
            machine, plan, ctx, self._input, self._streaming, self._options
        )
        loop.watch = self._watch
        self._events = self.events(loop, saved)
        return self._events

    def events(
        self, loop: Loop, saved: Saved | None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Return the events of the run, which may be one that is kept."""
        types = loop.machine.types
        if types is None:
            return loop.run()
        from refengine.resume import keeper  # noqa: PLC0415  # most runs are not kept

        kept = self._keep
        return keeper.keep(
            loop, types, self._input, kept.key, saved, kept.answers
        ).run()

    async def _saved(self) -> Saved:
        """Return what was kept of the run; raises why it cannot go on."""
        from refengine.resume import keeper  # noqa: PLC0415  # most runs are not kept

        kept = self._keep
        saved = await keeper.read_saved(self._agent.machine, kept.key, kept.answers)
        self._streaming = saved.start.streaming
        return saved

    def _fail(self, error: Exception) -> AgentEvent:
        path = self._agent.run_path(self._ctx)
        event = AgentEvent("error", path, error=error)
        self.error = error
        self._end("error", event)
        return event

    def _end(self, status: Status | None = None, *more: AgentEvent) -> None:
        loop, left = self._loop, status == "cancelled"
        if loop is None:  # it ended before its first step
            history = History(self._input)
            self.outcome = RunResult(status or "error", history, None, more, 0)
            return
        self.outcome = RunResult(
            status or loop.status,
            loop.left_whole() if left else loop.history,
            None if left else loop.answer,
            (*loop.events, *more),
            loop.iterations,
            loop.first,
            loop.interrupts,
        )
