"""The calls of one message, run and told in order (contract CONC).

Calls run concurrently, a failing one does not cancel its siblings, events come in call
order and then the error of the first failing call. A single call runs in place: a task
would cost more than all else that a call needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeAlias

from refengine.call import ToolCallRun
from refengine.context import Context
from refengine.errors import ToolResultTypeError
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
            if not isinstance(text, str):
                raise ToolResultTypeError("unknown_tools_handler", text)
            self.text = text
        except Exception as error:  # noqa: BLE001  # siblings run on; raised by the batch
            self.error = error

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
        "_held",
        "_leak",
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
        held: ToolCallRun | None,
        leak: bool,
    ) -> None:
        self.calls = calls
        self._runs = [call for call in calls if isinstance(call, ToolCallRun)]
        self._ctx = ctx
        self._streaming = streaming
        self._held = held
        self._leak = leak
        self._tasks: list[asyncio.Task[None]] = []
        self._told: list[tuple[ToolCallRun, str]] = []

    async def run(self, *, one_by_one: bool) -> AsyncGenerator[AgentEvent, None]:
        """Yield the events; afterwards every call has a text or an error.

        Whoever iterates calls ``leave`` in the end, also after breaking off.
        """
        if one_by_one or len(self._runs) == 1:
            for call in self._runs:
                await call.open(self._ctx, self._streaming)
                if self._is_due(call):
                    yield self._tell(call, self._event_id(call))
                await call.finish()
        else:
            gates = self._start()
            for call, gate in zip(self._runs, gates, strict=True):
                await gate.wait()
                if self._is_due(call):
                    yield self._tell(call, self._event_id(call))
            for task in self._tasks:
                await task
        held = self._held
        if held is not None and self.error() is None and not self._was_told(held):
            yield self._tell(held, held.call.id)

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

    def _start(self) -> list[asyncio.Event]:
        """Start all calls; each gate opens when its call has a result or a stream."""
        gates = [asyncio.Event() for _ in self._runs]
        self._tasks = [
            asyncio.create_task(self._whole(call, gate))
            for call, gate in zip(self._runs, gates, strict=True)
        ]
        return gates

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
