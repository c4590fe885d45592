"""The calls of one message, run and told in order (contract CONC).

Calls run concurrently, a failing one does not cancel its siblings, events come in call
order and then the error of the first failing call. A single call runs in place: a task
would cost more than all else that a call needs. Where engines do otherwise it is a
posture (``failing_call``, ``tool_events``).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from refengine.call import ToolCallRun
from refengine.checkpoint import Entry
from refengine.context import Context
from refengine.errors import InterruptOutsideHookError, ToolError, ToolResultTypeError
from refengine.events import AgentEvent
from refengine.interrupts import Interrupt, Pending
from refengine.leaving import FAILED, ended, in_turn, result_of
from refengine.messages import Message, ToolCall
from refengine.outcome import failed_again, failure_of
from refengine.profile import Profile
from refengine.scope import INNERMOST


class UnknownCall:
    """A call that ``unknown_tools_handler`` answered: a result, but no event.

    ``known`` is what came of it before the run was interrupted.
    """

    __slots__ = ("call", "error", "stopped", "text")

    def __init__(
        self,
        call: ToolCall,
        answer: Callable[[str, str], str],
        known: Entry | None = None,
    ) -> None:
        self.call = call
        self.text = "" if known is None else known.text or ""
        self.error: Exception | None = None
        self.stopped = False
        if known is None:
            self._ask(answer)
        elif known.failure is not None:
            self._failed(failed_again(known.failure))

    def _ask(self, answer: Callable[[str, str], str]) -> None:
        """Take what the handler answers; siblings run on, and an error waits."""
        name = "unknown_tools_handler"
        try:
            text = answer(self.call.name, self.call.arguments)
        except Exception as error:  # noqa: BLE001  # raised later
            self._failed(error)
        except Interrupt:
            self._failed(InterruptOutsideHookError(name))
        else:
            if isinstance(text, str):
                self.text = text
            else:
                self.error = ToolResultTypeError(name, text)

    def _failed(self, error: Exception) -> None:
        self.error = ToolError(self.call.name, self.call.id, error)
        self.error.__cause__ = error

    def entry(self) -> Entry | None:
        """Return what is kept of this call."""
        done = Entry("call", self.call.name, done=True)
        if not isinstance(self.error, ToolError):
            return replace(done, text=self.text)
        return replace(done, failure=failure_of(self.error.cause, INNERMOST))

    @property
    def missing(self) -> str | None:
        """Why a call of a run that was left has no result; None if it has."""
        return None if self.error is None else FAILED

    def message(self) -> Message:
        """Return the tool message that the model sees."""
        call = self.call
        return Message("tool", self.text, tool_call_id=call.id, name=call.name)


AnyCall: TypeAlias = ToolCallRun | UnknownCall


class CallBatch:
    """Runs the calls of one message.

    ``mode`` tells whether the run is streamed, and whether calls run one by one.
    ``held`` is a call whose event comes after all others, and only if all succeed
    (posture ``direct_event``).
    """

    __slots__ = (
        "_arrived",
        "_as_finished",
        "_cancels",
        "_ctx",
        "_gates",
        "_had",
        "_held",
        "_holds_back",
        "_in_place",
        "_leak",
        "_left",
        "_open",
        "_profile",
        "_runs",
        "_streaming",
        "_tasks",
        "_told",
        "calls",
        "interrupted",
    )

    def __init__(
        self,
        calls: Sequence[AnyCall],
        ctx: Context,
        mode: tuple[bool, bool],
        *,
        held: ToolCallRun | None,
        profile: Profile,
    ) -> None:
        self.calls = calls
        self._had: frozenset[AnyCall] = frozenset()
        self._holds_back = False
        self.interrupted = False
        """Whether a call asks for something, or waits for its answer."""
        self._runs = [call for call in calls if isinstance(call, ToolCallRun)]
        self._ctx = ctx
        self._streaming, one_by_one = mode
        self._in_place = one_by_one or len(self._runs) == 1
        self._held = held
        self._profile = profile
        self._leak = profile.changed_call_id == "leaks_into_event"
        self._cancels = profile.failing_call == "siblings_cancelled"
        self._as_finished = profile.tool_events == "as_finished"
        self._left = deque(self._runs)
        self._arrived: asyncio.Queue[ToolCallRun] | None = None
        self._open: ToolCallRun | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._gates: dict[ToolCallRun, asyncio.Event] = {}
        self._told: list[tuple[ToolCallRun, str]] = []

    def go_on(self, told: Sequence[int]) -> None:
        """Tell no event again that the consumer had before the run was interrupted."""
        self._had = frozenset(self.calls[at] for at in told)

    async def next_event(self) -> AgentEvent | None:
        """Return the next event; None if every call has a text or an error.

        No generator: that would have to be closed, and costs more than a call.
        Whoever asks calls ``leave`` if he breaks off.
        """
        if not self._in_place and not self._tasks:
            self._start()
        if self._open is not None:
            await self._finish(self._open)
        while self._left:
            if self._in_place:
                call = self._left.popleft()
                await call.open(self._ctx, self._streaming)
                self._open = call if call.is_stream else None
            else:
                call = await self._next_arrived()
            if self._is_due(call):
                return self._tell(call, self._event_id(call))
            await self._pass_by(call)
        if self._tasks:
            await self._end_tasks()
        return None if self._held is None else self._held_event()

    async def _next_arrived(self) -> ToolCallRun:
        """Return the next call that has a result or a stream, in its task."""
        if self._arrived is not None:
            call = await self._arrived.get()
            self._left.remove(call)
            return call
        call = self._left.popleft()
        await self._gates[call].wait()
        return call

    async def _finish(self, opened: ToolCallRun) -> None:
        """Finish the call that was opened here; tasks finish theirs themselves."""
        await opened.finish()
        self._open = None

    async def _pass_by(self, call: ToolCallRun) -> None:
        """Finish a call that has no event now, and see what it is to those after it."""
        if self._open is not None:
            await self._finish(self._open)
        if call.stopped:
            self._hold_back()
        if self._cancels and self._in_place and call.error is not None:
            self._left.clear()

    async def _end_tasks(self) -> None:
        """Wait until all have ended; raises what one of them was ended by."""
        if self._cancels:
            # A cancelled one must not cancel who waits for it.
            await asyncio.wait(self._tasks)
        else:
            for task in self._tasks:
                await task

    def _held_event(self) -> AgentEvent | None:
        """Return the event that was held back, if all calls succeeded."""
        held, self._held = self._held, None
        if held is None or self.error() is not None or self._was_told(held):
            return None
        if self.interrupted:
            return None
        return self._tell(held, held.call.id)

    async def leave(self) -> None:
        """Leave nothing running or open, however the batch ended."""
        closings = [call.close for call in self._runs]
        await in_turn((lambda: ended(self._tasks), *closings))

    def results(self) -> list[Message]:
        """Return the results of a batch that was left, a reason where there is none."""
        return [
            call.message() if why is None else result_of(call.call, why)
            for call, why in ((call, call.missing) for call in self.calls)
        ]

    def error(self) -> Exception | None:
        """Return the error of the first failing call, in call order."""
        for call in self.calls:
            if call.error is not None:
                return call.error
        return None

    def pending(self, run_path: tuple[str, ...], iteration: int) -> tuple[Pending, ...]:
        """Return what the calls ask, in call order."""
        return tuple(
            each for run in self._runs for each in run.pending(run_path, iteration)
        )

    def told(self) -> tuple[int, ...]:
        """Return the places of the calls whose events the consumer has had."""
        had = {*self._had, *(call for call, _ in self._told)}
        return tuple(at for at, call in enumerate(self.calls) if call in had)

    def snapshots(self) -> list[AgentEvent]:
        """Return the finished form of the events that were yielded."""
        return [call.finished(call_id) for call, call_id in self._told]

    def _start(self) -> None:
        """Start all calls; each gate opens when its call has a result or a stream."""
        self._gates = {call: asyncio.Event() for call in self._runs}
        if self._as_finished:
            self._arrived = asyncio.Queue()
        self._tasks = [asyncio.create_task(self._whole(call)) for call in self._runs]
        if self._cancels:
            for call, task in zip(self._runs, self._tasks, strict=True):
                task.add_done_callback(partial(self._ended, call))

    async def _whole(self, call: ToolCallRun) -> None:
        try:
            await call.open(self._ctx, self._streaming)
        finally:
            self._arrive(call)
        await call.finish()

    def _arrive(self, call: ToolCallRun) -> None:
        gate = self._gates[call]
        if not gate.is_set():
            gate.set()
            if self._arrived is not None:
                self._arrived.put_nowait(call)

    def _ended(self, call: ToolCallRun, _: asyncio.Task[None]) -> None:
        """Cancel the siblings of a call that failed; one may not even have begun."""
        self._arrive(call)
        if call.error is not None:
            for task in self._tasks:
                task.cancel()

    def _hold_back(self) -> None:
        """Tell no event before that of a call which was interrupted.

        Where calls run one by one, those after it have not begun and do not.
        """
        if self._in_place:
            self._left.clear()
        self.interrupted = True
        self._holds_back = self._profile.events_at_interrupt == "held"

    def _is_due(self, call: ToolCallRun) -> bool:
        if not call.opened or self._holds_back or call in self._had:
            return False
        return call is not self._held or self._event_id(call) != call.call.id

    def _event_id(self, call: ToolCallRun) -> str:
        return call.final_call_id if self._leak else call.call.id

    def _tell(self, call: ToolCallRun, call_id: str) -> AgentEvent:
        self._told.append((call, call_id))
        return call.event(call_id)

    def _was_told(self, call: ToolCallRun) -> bool:
        return call in self._had or any(told is call for told, _ in self._told)
