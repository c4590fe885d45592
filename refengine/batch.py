"""The calls of one message, run and told in order (contract CONC).

Calls run concurrently, a failing one does not cancel its siblings, events come in call
order and then the error of the first failing call. A single call runs in place: a task
would cost more than all else that a call needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from refengine.call import ToolCallRun
from refengine.context import Context
from refengine.errors import ToolError, ToolResultTypeError
from refengine.events import AgentEvent
from refengine.messages import Message, ToolCall


class UnknownCall:
    """A call that ``unknown_tools_handler`` answered: a result, but no event."""

    __slots__ = ("call", "error", "text")

    def __init__(self, call: ToolCall, answer: Callable[[str, str], str]) -> None:
        self.call = call
        self.text = ""
        self.error: Exception | None = None
        try:
            text = answer(call.name, call.arguments)
        except Exception as error:  # noqa: BLE001  # siblings run on; raised later
            self.error = ToolError(call.name, call.id, error)
            self.error.__cause__ = error
            return
        if isinstance(text, str):
            self.text = text
        else:
            self.error = ToolResultTypeError("unknown_tools_handler", text)

    def message(self) -> Message:
        """Return the tool message that the model sees."""
        call = self.call
        return Message("tool", self.text, tool_call_id=call.id, name=call.name)


AnyCall: TypeAlias = ToolCallRun | UnknownCall


class CallBatch:
    """Runs the calls of one message.

    ``held`` is a call whose event comes after all others, and only if all succeed
    (posture ``direct_event``). ``leak`` lets a changed call id reach the event.
    """

    __slots__ = (
        "_ctx",
        "_gates",
        "_held",
        "_in_place",
        "_leak",
        "_left",
        "_open",
        "_runs",
        "_streaming",
        "_tasks",
        "_told",
        "calls",
    )

    def __init__(
        self,
        calls: Sequence[AnyCall],
        ctx: Context,
        *,
        streaming: bool,
        one_by_one: bool,
        held: ToolCallRun | None,
        leak: bool,
    ) -> None:
        self.calls = calls
        self._runs = [call for call in calls if isinstance(call, ToolCallRun)]
        self._ctx = ctx
        self._streaming = streaming
        self._in_place = one_by_one or len(self._runs) == 1
        self._held = held
        self._leak = leak
        self._left = iter(self._runs)
        self._open: ToolCallRun | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._gates: dict[ToolCallRun, asyncio.Event] = {}
        self._told: list[tuple[ToolCallRun, str]] = []

    async def next_event(self) -> AgentEvent | None:
        """Return the next event; None if every call has a text or an error.

        No generator: that would have to be closed, and costs more than a call.
        Whoever asks calls ``leave`` if he breaks off.
        """
        if not self._in_place and not self._tasks:
            self._start()
        await self._finish()
        for call in self._left:
            await self._opened(call)
            if self._is_due(call):
                return self._tell(call, self._event_id(call))
            await self._finish()
        for task in self._tasks:
            await task
        held, self._held = self._held, None
        if held is None or self.error() is not None or self._was_told(held):
            return None
        return self._tell(held, held.call.id)

    async def _opened(self, call: ToolCallRun) -> None:
        """See that a call has a result or a stream: here, or in its task."""
        if self._in_place:
            self._open = call
            await call.open(self._ctx, self._streaming)
        else:
            await self._gates[call].wait()

    async def _finish(self) -> None:
        """Finish the call that was opened here; tasks finish theirs themselves."""
        if self._open is not None:
            await self._open.finish()
            self._open = None

    async def leave(self) -> None:
        """Leave nothing running or open, however the batch ended."""
        unfinished = [task for task in self._tasks if not task.done()]
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.gather(*unfinished, return_exceptions=True)
        for call in self._runs:
            await call.close()

    def error(self) -> Exception | None:
        """Return the error of the first failing call, in call order."""
        return next((call.error for call in self.calls if call.error is not None), None)

    def snapshots(self) -> list[AgentEvent]:
        """Return the finished form of the events that were yielded."""
        return [call.finished(call_id) for call, call_id in self._told]

    def _start(self) -> None:
        """Start all calls; each gate opens when its call has a result or a stream."""
        self._gates = {call: asyncio.Event() for call in self._runs}
        self._tasks = [
            asyncio.create_task(self._whole(call, gate))
            for call, gate in self._gates.items()
        ]

    async def _whole(self, call: ToolCallRun, gate: asyncio.Event) -> None:
        try:
            await call.open(self._ctx, self._streaming)
        finally:
            gate.set()
        await call.finish()

    def _is_due(self, call: ToolCallRun) -> bool:
        if not call.opened:  # failed, or cancelled on the way
            return False
        return call is not self._held or self._event_id(call) != call.call.id

    def _event_id(self, call: ToolCallRun) -> str:
        return call.final_call_id if self._leak else call.call.id

    def _tell(self, call: ToolCallRun, call_id: str) -> AgentEvent:
        self._told.append((call, call_id))
        return call.event(call_id)

    def _was_told(self, call: ToolCallRun) -> bool:
        return any(told is call for told, _ in self._told)
