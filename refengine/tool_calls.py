"""The calls of one message: each opened through its onion, told as an event, finished.

Calls run concurrently, a failing one does not cancel its siblings, events come in call
order and then the error of the first failing call (contract CONC). A single call runs
in place: a task would cost more than all else that a call needs. Where engines do
otherwise it is a posture (``failing_call``, ``tool_events``).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Protocol, TypeAlias, cast

from refengine.awaiting import ended, in_turn
from refengine.chain import SCOPE, Call, CallScope, LayerName
from refengine.context import Context
from refengine.errors import (
    HookReturnError,
    InterruptOutsideHookError,
    ToolError,
    ToolResultTypeError,
)
from refengine.events import AgentEvent, Chunk
from refengine.interrupts import Address, Interrupt, Pending, interrupt_in
from refengine.messages import Message, ToolCall
from refengine.profile import Profile
from refengine.routing import FAILED, NOT_BEGUN, NOT_ENDED, result_of
from refengine.shared_stream import SharedStream
from refengine.stream import StreamReader
from refengine.tool_onion import BoundTool, failed_text
from refengine.tools import (
    Options,
    StreamToolCallResult,
    ToolCallInput,
    ToolInfo,
)


class CallRecord(Protocol):
    """Notes what becomes of one tool call, in a run that is kept."""

    def around(self, endpoint: Call) -> Call:
        """Return a call that notes what it gives, or gives what it gave before."""
        ...

    async def stop(self, stop: Interrupt) -> None:
        """Note that an interrupt left the call."""
        ...

    def pending(self) -> Iterator[Pending]:
        """Yield what the call asks, or waited for already."""
        ...


class ToolCallRun:
    """One call of a tool that exists.

    ``text`` is the result once finished; ``error`` what ended the call instead, or
    ``stopped`` tells that it asks for something instead of either. ``record`` notes it
    in a run that is kept; there a call may wait for its answer, and is not entered.
    """

    __slots__ = (
        "_event",
        "_message",
        "_names",
        "_stop",
        "_tool",
        "begun",
        "call",
        "error",
        "fault",
        "input",
        "live",
        "record",
        "scope",
        "stopped",
        "text",
    )
    begun: bool
    """Whether it was begun, so that it is told as not ended where it stops."""

    def __init__(
        self, call: ToolCall, tool: BoundTool, scope: CallScope, options: Options
    ) -> None:
        self.call: ToolCall = call
        self.text: str | None = None
        self.error: Exception | None = None
        self._tool = tool
        self.scope: CallScope = scope
        self.input: ToolCallInput = ToolCallInput(
            call.name, call.arguments, call.id, options
        )
        self.live: SharedStream[str] | None = None
        self._names: Sequence[LayerName] = ()
        self._message: Message | None = None
        self._event: AgentEvent | None = None
        self._stop: Interrupt | None = None
        self.begun = False
        self.fault: Exception | None = None
        self.record: CallRecord | None = None
        self.stopped: bool = False

    @property
    def opened(self) -> bool:
        """Whether there is a result, or a stream of it."""
        return self.error is None and (self.text is not None or self.live is not None)

    @property
    def is_stream(self) -> bool:
        """Whether a stream is open that is to be read to its end."""
        return self.live is not None

    @property
    def changed(self) -> tuple[str, str] | None:
        """The name and call id that a wrapper asked for in vain."""
        return self.scope.changed

    @property
    def final_call_id(self) -> str:
        """The call id that the outermost wrapper's input ended with."""
        return self.input.call_id

    async def open(  # noqa: C901, PLR0912  # one try around all that may fail
        self, ctx: Context, streaming: bool
    ) -> None:
        """Go through the onion: to the result, or to a stream that is open."""
        if self.stopped:
            return
        self.begun, scope = True, self.scope
        endpoint, _, self._names = self._tool.endpoint(streaming)
        if self.record is not None:
            endpoint = self.record.around(endpoint)
        token = SCOPE.set(scope)
        try:
            result = await endpoint(scope.innermost(ctx), self.input)
            if scope.stopped is not None and scope.raises_again:
                raise scope.stopped  # a wrapper did not let it out
        except Interrupt as stop:
            await self._asks(stop)
            return
        except (Exception, BaseExceptionGroup) as error:
            # Siblings run on, and what failed is raised later.
            grouped = interrupt_in(error)
            if grouped is not None:
                await self._asks(grouped)
                return
            if not isinstance(error, Exception):
                raise
            if scope.answers:
                self.text = failed_text(error)
            else:
                self.error = self.leaving(error)
            await scope.close()
            return
        finally:
            SCOPE.reset(token)
            given = self.call.name, self.call.id
            if (self.input.name, self.input.call_id) != given:  # a wrapper wrote there
                scope.compare(self.input, self.call.name)
            if scope.follows and scope.call_id is not None:
                self.call = replace(self.call, id=scope.call_id)
        if isinstance(result, StreamToolCallResult):
            self.live = SharedStream(result.result, scope)
        elif isinstance(result.result, str):
            self.text = result.result
        else:  # a wrapper's: what the tool itself returned was looked at
            owner = f"a wrapper around {self.call.name}"
            wanted = "a ToolCallResult with a text"
            hook = "wrap_invokable_tool_call"
            self.error = HookReturnError(owner, hook, result.result, wanted)

    async def _asks(self, stop: Interrupt) -> None:
        """Note what the call asks, and close what it opened."""
        self.stopped = True
        self._stop = stop
        try:
            if self.record is not None:
                await self.record.stop(stop)
        except Exception as error:  # noqa: BLE001  # what cannot be kept cannot be asked
            self.error = self.leaving(error)
        await self.scope.close()

    def pending(self, run_path: tuple[str, ...], iteration: int) -> Iterator[Pending]:
        """Yield what this call asks, or waited for already."""
        if self.record is not None:
            yield from self.record.pending()
        elif self._stop is not None:
            stop, name = self._stop, self.call.name
            hook, owner = stop.where or ("tool", name)
            own = Address(run_path, iteration, hook, owner, name, self.call.id)
            yield stop.pending or Pending(own, stop.payload)

    async def finish(self) -> None:
        """Read a stream to its end; nothing to do for a plain result."""
        if self.live is None:
            return
        try:
            chunks = await self.live.drain()
        except Exception as error:  # noqa: BLE001  # siblings run on; the batch raises
            self.fault = error
            self.error = self.leaving(error)
            return
        self._join(chunks)

    def _join(self, chunks: Sequence[str]) -> None:
        try:
            self.text = "".join(chunks)
        except TypeError:
            wrong = next(each for each in chunks if not isinstance(each, str))
            self.fault = self.error = ToolResultTypeError(self.call.name, wrong)

    async def close(self) -> None:
        """Close what is still open, if the run is left; keep what was read whole."""
        live = self.live
        if live is None:
            await self.scope.close()  # it was left while a stream was handed on
            return
        try:
            await live.close()
        finally:
            if live.whole and self.text is None and self.error is None:
                self._join(live.chunks)

    @property
    def missing(self) -> str | None:
        """Why a call of a run that was left has no result; None if it has."""
        if self.error is not None:
            return FAILED
        if self.text is not None:
            return None
        return NOT_ENDED if self.begun or self.stopped else NOT_BEGUN

    def message(self) -> Message:
        """Return the tool message of the finished call."""
        if self._message is None:
            self._message = self._made_for(self.call.id)
        return self._message

    def event(self, call_id: str) -> AgentEvent:
        """Return the event as the consumer gets it, with a stream if one is open."""
        if self.live is None:
            self._event = self._snapshot(call_id)
            return self._event
        stream = cast("StreamReader[Chunk]", self.live.reader())
        path, action = self.scope.run_path, self.scope.action
        return AgentEvent("tool", path, call_id=call_id, stream=stream, action=action)

    def finished(self, call_id: str) -> AgentEvent:
        """Return the event in its finished form; a plain result's was that already."""
        return self._event or self._snapshot(call_id)

    def _made_for(self, call_id: str) -> Message:
        name = self.call.name
        return Message("tool", self.text or "", tool_call_id=call_id, name=name)

    def _snapshot(self, call_id: str) -> AgentEvent:
        chunks = None if self.live is None else tuple(self.live.chunks)
        message = None
        if self.text is not None:
            own = call_id == self.call.id
            message = self.message() if own else self._made_for(call_id)
        return AgentEvent(
            "tool",
            self.scope.run_path,
            message,
            call_id,
            chunks=chunks,
            action=self.scope.action,
        )

    def leaving(self, error: Exception) -> Exception:
        """Return an error of the call as the run reports it."""
        if self.scope.is_innermost(error):
            made: Exception = ToolError(self.call.name, self.call.id, error)
        else:
            made = self.scope.leaving(error, self._names)
        if made is not error:
            made.__cause__ = error  # raised later, where ``from`` is out of reach
        return made


class AbsentCall(ToolCallRun):
    """A call of a tool that is not there; its result says so."""

    __slots__ = ()


class AbsentTool:
    """Stands for a tool that is not there (posture ``unknown_tool``)."""

    def __init__(self, name: str, text: str) -> None:
        self.info: ToolInfo = ToolInfo(name)
        self._text = text

    async def invoke(self, *_: object) -> str:
        """Return what the model is told."""
        return self._text


def absent_text(name: str, available: Sequence[str]) -> str:
    """Return what the model is told that called a tool which is not there."""
    return f"There is no tool {name!r}; available: {', '.join(available) or 'none'}."


class UnknownCall:
    """A call that ``unknown_tools_handler`` answered: a result, but no event.

    It is asked once all calls of the message are known; one that was answered before
    the run was interrupted is not.
    """

    __slots__ = ("_answer", "answered", "call", "error", "stopped", "text")

    def __init__(self, call: ToolCall, answer: Callable[[str, str], str]) -> None:
        self.call: ToolCall = call
        self._answer = answer
        self.answered: bool = False
        self.error: Exception | None = None
        self.stopped: bool = False
        self.text: str = ""

    def ask(self) -> None:
        """Take what the handler answers; siblings run on, and an error waits."""
        if self.answered:
            return
        name = "unknown_tools_handler"
        try:
            text = self._answer(self.call.name, self.call.arguments)
        except Exception as error:  # noqa: BLE001  # raised later
            self.failed(error)
        except Interrupt:
            self.failed(InterruptOutsideHookError(name))
        else:
            if isinstance(text, str):
                self.text = text
            else:
                self.error = ToolResultTypeError(name, text)

    def failed(self, error: Exception) -> None:
        """Note what was raised instead of an answer."""
        self.error = ToolError(self.call.name, self.call.id, error)
        self.error.__cause__ = error

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
    """The calls of one message, each opened when its event is asked for.

    ``runs`` are those of ``calls`` whose tool is there, or stands for one that is not.
    ``held`` is a call whose event comes after all others, and only if all succeed
    (posture ``direct_event``).
    """

    __slots__ = (
        "_ctx",
        "_held",
        "_holds_back",
        "_left",
        "_open",
        "_profile",
        "_streaming",
        "_tasks",
        "calls",
        "delivered",
        "delivered_before",
        "interrupted",
        "runs",
    )
    in_turn: ClassVar[bool] = True
    """Whether a call begins when those before it have ended."""
    held_first: ClassVar[bool] = False
    """Whether the event that is held comes before all streams were read."""

    def __init__(
        self,
        calls: Sequence[AnyCall],
        runs: Sequence[ToolCallRun],
        ctx: Context,
        streaming: bool,
        *,
        held: ToolCallRun | None,
        profile: Profile,
    ) -> None:
        self.calls: Sequence[AnyCall] = calls
        self.runs: Sequence[ToolCallRun] = runs
        self.delivered_before: frozenset[AnyCall] = frozenset()
        """The calls whose events the consumer had before the run was interrupted."""
        self._holds_back = False
        self.interrupted: bool = False
        """Whether a call asks for something, or waits for its answer."""
        self._ctx = ctx
        self._streaming = streaming
        self._held = held
        self._profile = profile
        self._left = deque(self.runs)
        self._open: ToolCallRun | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.delivered: list[tuple[ToolCallRun, str]] = []

    def ask_handler(self) -> None:
        """Let the handler answer the calls of unknown tools, before any other runs."""
        if len(self.runs) < len(self.calls):
            for call in self.calls:
                if isinstance(call, UnknownCall):
                    call.ask()

    async def next_event(self) -> AgentEvent | None:
        """Return the next event; None if every call has a text or an error.

        No generator: that would have to be closed, and costs more than a call.
        Whoever asks calls ``leave`` if he breaks off.
        """
        if self._open is not None:
            await self._finish(self._open)
        while self._left:
            call = await self._next()
            if self._is_due(call):
                return self._tell(call, self._event_id(call))
            await self._pass_by(call)
        if self.held_first and (event := self._held_event()) is not None:
            return event
        if self._tasks:
            await self._end_tasks()
        return None if self._held is None else self._held_event()

    async def _next(self) -> ToolCallRun:
        """Return the next call that has a result or a stream."""
        call = self._left.popleft()
        await call.open(self._ctx, self._streaming)
        self._open = call if call.is_stream else None
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
        if self._cancels and self.in_turn and call.error is not None:
            self._left.clear()

    def _hold_back(self) -> None:
        """Tell no event before that of a call which was interrupted.

        Where calls run one by one, those after it have not begun and do not.
        """
        if self.in_turn:
            self._left.clear()
        self.interrupted = True
        self._holds_back = self._profile.events_at_interrupt == "held"

    @property
    def _cancels(self) -> bool:
        return self._profile.failing_call == "siblings_cancelled"

    @property
    def _as_finished(self) -> bool:
        return self._profile.tool_events == "as_finished"

    def _is_due(self, call: ToolCallRun) -> bool:
        # Where events come as calls finish, that of a stream came when it was opened,
        # whatever has become of it since.
        opened = call.opened or (call.is_stream and self._as_finished)
        if not opened or self._holds_back or call in self.delivered_before:
            return False
        return call is not self._held or self._event_id(call) != call.call.id

    def _event_id(self, call: ToolCallRun) -> str:
        leaks = self._profile.changed_call_id == "leaks_into_event"
        return call.final_call_id if leaks else call.call.id

    def _tell(self, call: ToolCallRun, call_id: str) -> AgentEvent:
        self.delivered.append((call, call_id))
        return call.event(call_id)

    def _held_event(self) -> AgentEvent | None:
        """Return the event that was held back, if all calls succeeded."""
        held, self._held = self._held, None
        if held is None or self.interrupted or self.error() is not None:
            return None
        told = held in self.delivered_before or any(
            each is held for each, _ in self.delivered
        )
        return None if told else self._tell(held, held.call.id)

    async def _end_tasks(self) -> None:
        """Wait until all have ended; raises what one of them was ended by."""
        if self._cancels:
            # A cancelled one must not cancel who waits for it.
            await asyncio.wait(self._tasks)
        else:
            for task in self._tasks:
                await task

    async def leave(self) -> None:
        """Leave nothing running or open, however the batch ended."""
        closings = [call.close for call in self.runs]
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
            each for run in self.runs for each in run.pending(run_path, iteration)
        )

    def snapshots(self) -> list[AgentEvent]:
        """Return the finished form of the events that were yielded."""
        return [call.finished(call_id) for call, call_id in self.delivered]


class CallsAtOnce(CallBatch):
    """All calls at once, each in a task of its own; events come in call order.

    Each gate opens when its call has a result or a stream. Where events come as calls
    finish (posture ``tool_events``) it is whoever arrived that is told next.
    """

    __slots__ = ("_arrived", "_gates")
    in_turn = False

    async def _next(self) -> ToolCallRun:
        if not self._tasks:
            self._gates = {call: asyncio.Event() for call in self.runs}
            self._arrived: asyncio.Queue[ToolCallRun] = asyncio.Queue()
            self._start()
        if self._as_finished:
            call = await self._arrived.get()
            self._left.remove(call)
            return call
        call = self._left.popleft()
        await self._gates[call].wait()
        return call

    def _start(self) -> None:
        self._start_each(self._whole)

    def _start_each(
        self, run: Callable[[ToolCallRun], Coroutine[None, None, None]]
    ) -> None:
        self._tasks = [asyncio.create_task(run(call)) for call in self.runs]
        if self._cancels:
            for call, task in zip(self.runs, self._tasks, strict=True):
                task.add_done_callback(partial(self._ended, call))

    async def _whole(self, call: ToolCallRun) -> None:
        await self._opened(call)
        await call.finish()

    async def _opened(self, call: ToolCallRun) -> None:
        try:
            await call.open(self._ctx, self._streaming)
        finally:
            self._arrive(call)

    def _arrive(self, call: ToolCallRun) -> None:
        gate = self._gates[call]
        if not gate.is_set():
            gate.set()
            self._arrived.put_nowait(call)

    def _ended(self, call: ToolCallRun, _: asyncio.Task[None]) -> None:
        """Cancel the siblings of a call that failed; one may not even have begun."""
        self._arrive(call)
        if call.error is not None:
            for task in self._tasks:
                task.cancel()


class OpenedAtOnce(CallsAtOnce):
    """All calls are opened before the stream of any is read, and then all are read.

    (Posture ``sequential_streams``.)
    """

    __slots__ = ()
    held_first = True

    def _start(self) -> None:
        self._start_each(self._opened)
        reading = self._read_after(tuple(self._tasks))
        self._tasks.append(asyncio.create_task(reading))

    async def _read_after(self, opening: Sequence[asyncio.Task[None]]) -> None:
        """Wait until all results are open, each in its task, then read the streams."""
        await asyncio.wait(opening)
        if not any(each.cancelled() or each.exception() for each in opening):
            await self._read_opened()

    async def _read_opened(self) -> None:
        """Read the streams all at once; a call that failed leaves the others unread."""
        if any(call.error is not None for call in self.runs):
            return
        reading = [asyncio.create_task(call.finish()) for call in self.runs]
        self._tasks += reading  # so that who leaves ends them, too
        await asyncio.wait(reading)


class OpenedInTurn(OpenedAtOnce):
    """The same where calls run one by one: they are opened one after the other."""

    __slots__ = ()
    in_turn = True

    def _start(self) -> None:
        self._tasks = [asyncio.create_task(self._open_in_turn())]

    async def _open_in_turn(self) -> None:
        """Open all results one by one, each told at once, and then read the streams."""
        try:
            for call in self.runs:
                await self._opened(call)
                if call.stopped or (self._cancels and call.error is not None):
                    break
        except BaseException:
            for call in self.runs:
                self._arrive(call)
            raise
        await self._read_opened()


def scheduler(
    profile: Profile, *, streaming: bool, one_by_one: bool
) -> type[CallBatch]:
    """Return how the calls of a message are run."""
    if streaming and profile.sequential_streams == "opened":
        return OpenedInTurn if one_by_one else OpenedAtOnce
    return CallBatch if one_by_one else CallsAtOnce
