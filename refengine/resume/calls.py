"""What is kept of the tool calls of a message, and what is known of them again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from refengine.chain import INNERMOST, Call, Value
from refengine.errors import ToolError
from refengine.interrupts import Interrupt, Pending
from refengine.resume.checkpoint import Entry, pending_in
from refengine.resume.errors import ChangedAgentError
from refengine.resume.layers import changes, given, put_back
from refengine.resume.outcome import failed_again, failure_of
from refengine.tool_calls import AnyCall, ToolCallRun, UnknownCall

if TYPE_CHECKING:
    from refengine.resume.journal import Journal


class KeptCall:
    """What becomes of one tool call is noted here; it is a ``CallRecord``.

    One that waits for its answer is not entered and stays as it was.
    """

    __slots__ = ("_given", "_live", "_run", "_waits")

    def __init__(self, run: ToolCallRun, old: Entry | None, journal: Journal) -> None:
        call = run.call
        self._run = run
        self._live = journal.root("call", call.name, old, call=(call.name, call.id))
        self._waits = old is not None and not old.done and not journal.goes_on(old)
        self._given = given(run.scope, run.input)
        run.stopped = self._waits
        if old is not None:
            run.scope.action = old.action
            put_back(run.scope, run.input, self._live.changes)

    def around(self, endpoint: Call) -> Call:
        """Return a call that notes what it gives, or gives what it gave before."""
        live, blame = self._live, self._run.scope.blame

        async def again(*_: object) -> Value:
            return live.again(blame)

        call = again if live.done else endpoint
        return lambda ctx, value: live.around(call, ctx, value)

    async def stop(self, stop: Interrupt) -> None:
        """Note that an interrupt left the call."""
        await self._live.around(self._live.stop, stop)

    def pending(self) -> Iterator[Pending]:
        """Yield what the call asks, or waited for already."""
        old = self._live.old
        if self._waits and old is not None:
            yield from pending_in(old)
        elif self._live.stopped is not None:
            yield from pending_in(self._live.entry())

    def entry(self) -> Entry | None:
        """Return what is kept of the call; None if it has not begun.

        Raises NotKeepableError if a wrapper left in its input what cannot be kept.
        """
        entry, run = self._entry(), self._run
        if entry is None:
            return entry
        action, changed = run.scope.action, None
        if entry.done and self._given is not None:
            before = (*self._given[:-1], action)  # which is kept with each entry
            changed = changes(run.scope, run.input, before, self._live.where)
        return replace(entry, action=action, changes=changed)

    def _entry(self) -> Entry | None:
        run, live = self._run, self._run.live
        if run.text is None or run.error is not None:
            if self._waits:
                return self._live.old
            if live is not None and run.fault is not None:
                return self._live.failed_stream(run.scope, live.chunks, run.fault)
            return self._live.entry() if run.begun else None
        chunks = None if live is None else tuple(live.chunks)
        text = run.text if chunks is None else None
        return Entry("call", run.call.name, done=True, text=text, chunks=chunks)


def entry_of(call: AnyCall) -> Entry | None:
    """Return what is kept of a call; None if it has not begun."""
    if isinstance(call, UnknownCall):
        return _entry_of_unknown(call)
    return call.record.entry() if isinstance(call.record, KeptCall) else None


def _entry_of_unknown(call: UnknownCall) -> Entry:
    done = Entry("call", call.call.name, done=True)
    if not isinstance(call.error, ToolError):
        return replace(done, text=call.text)
    return replace(done, failure=failure_of(call.error.cause, INNERMOST))


def know_answer(call: UnknownCall, entry: Entry) -> None:
    """Take what came of an unknown tool's call before the run was interrupted."""
    if not entry.done:
        raise ChangedAgentError("a tool", entry.owner, "none of that name")
    call.answered, call.text = True, entry.text or ""
    if entry.failure is not None:
        call.failed(failed_again(entry.failure))
