"""One tool call: opened through its onion, told as an event, finished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from refengine.checkpoint import Entry, pending_in
from refengine.context import Context
from refengine.errors import HookReturnError, ToolError, ToolResultTypeError
from refengine.events import AgentEvent, Chunk
from refengine.interrupts import ENTERED, Address, Interrupt, Pending, interrupt_in
from refengine.kept_input import Given, changes, given, put_back
from refengine.leaving import FAILED, NOT_BEGUN, NOT_ENDED
from refengine.live import LiveStream
from refengine.messages import Message, ToolCall
from refengine.scope import SCOPE, LayerName, Scope
from refengine.stream import StreamReader
from refengine.tools import (
    Options,
    StreamToolCallResult,
    ToolCallInput,
    ToolInfo,
)
from refengine.toolset import BoundTool

if TYPE_CHECKING:
    from refengine.place import Place


class ToolCallRun:
    """One call of a tool that exists.

    ``text`` is the result once finished; ``error`` what ended the call instead, or
    ``stopped`` tells that it asks for something instead of either.
    """

    __slots__ = (
        "_begun",
        "_event",
        "_fault",
        "_given",
        "_message",
        "_names",
        "_place",
        "_stop",
        "_tool",
        "_waits",
        "call",
        "error",
        "input",
        "live",
        "scope",
        "stopped",
        "text",
    )

    def __init__(
        self, call: ToolCall, tool: BoundTool, scope: Scope, options: Options
    ) -> None:
        self.call = call
        self.text: str | None = None
        self.error: Exception | None = None
        self._tool = tool
        self.scope = scope
        self.input = ToolCallInput(call.name, call.arguments, call.id, options)
        self.live: LiveStream[str] | None = None
        self._names: Sequence[LayerName] = ()
        self._message: Message | None = None
        self._event: AgentEvent | None = None
        self._place: Place | None = None
        self._waits = False
        self._stop: Interrupt | None = None
        self._begun = False
        self._fault: Exception | None = None
        self._given: Given | None = None
        self.stopped = False

    def keep(self, place: Place, *, waits: bool) -> None:
        """Note what becomes of the call there, in a run that is kept.

        One that ``waits`` is not answered yet: it is not entered and stays as it was.
        """
        self._place = place
        self._waits = self.stopped = waits
        self._given = given(self.scope, self.input)
        if place.old is not None:
            self.scope.action = place.old.action
            put_back(self.scope, self.input, place.changes)

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
        if self._waits:
            return
        self._begun, scope, place = True, self.scope, self._place
        endpoint, streams, self._names = self._tool.endpoint(streaming)
        token = SCOPE.set(scope)
        entered = None if place is None else ENTERED.set(place)
        try:
            if place is not None and place.done:
                result = place.again(scope.blame)
                streams = isinstance(result, StreamToolCallResult)
            else:
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
            self.error = self.leaving(error)
            await scope.close()
            return
        finally:
            SCOPE.reset(token)
            if entered is not None:
                ENTERED.reset(entered)
            scope.compare(self.input, self.call.name)
            if scope.follows and scope.call_id is not None:
                self.call = replace(self.call, id=scope.call_id)
        if streams:
            self.live = LiveStream(result.result, scope)
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
            if self._place is not None:
                await self._place.stop(stop)
        except Exception as error:  # noqa: BLE001  # what cannot be kept cannot be asked
            self.error = self.leaving(error)
        await self.scope.close()

    def pending(self, run_path: tuple[str, ...], iteration: int) -> Iterator[Pending]:
        """Yield what this call asks, or waited for already."""
        old = None if self._place is None else self._place.old
        if self._waits and old is not None:
            yield from pending_in(old)
        elif self._place is not None and self._stop is not None:
            yield from pending_in(self._place.entry())
        elif self._stop is not None:
            stop, name = self._stop, self.call.name
            hook, owner = stop.where or ("tool", name)
            own = Address(run_path, iteration, hook, owner, name, self.call.id)
            yield stop.pending or Pending(own, stop.payload)

    def entry(self) -> Entry | None:
        """Return what is kept of this call; None if it has not begun.

        Raises NotKeepableError if a wrapper left in its input what cannot be kept.
        """
        entry, place = self._entry(), self._place
        if entry is None or place is None:
            return entry
        action, changed = self.scope.action, None
        if entry.done and self._given is not None:
            before = (*self._given[:-1], action)  # which is kept with each entry
            changed = changes(self.scope, self.input, before, place.where)
        return replace(entry, action=action, changes=changed)

    def _entry(self) -> Entry | None:
        if self._place is None:
            return None
        if self.text is None or self.error is not None:
            if self._waits:
                return self._place.old
            if self.live is not None and self._fault is not None:
                read = self.live.chunks
                return self._place.failed_stream(self.scope, read, self._fault)
            return self._place.entry() if self._begun else None
        chunks = None if self.live is None else tuple(self.live.chunks)
        text = self.text if chunks is None else None
        return Entry("call", self.call.name, done=True, text=text, chunks=chunks)

    async def finish(self) -> None:
        """Read a stream to its end; nothing to do for a plain result."""
        if self.live is None:
            return
        try:
            chunks = await self.live.drain()
        except Exception as error:  # noqa: BLE001  # siblings run on; the batch raises
            self._fault = error
            self.error = self.leaving(error)
            return
        self._join(chunks)

    def _join(self, chunks: Sequence[str]) -> None:
        try:
            self.text = "".join(chunks)
        except TypeError:
            wrong = next(each for each in chunks if not isinstance(each, str))
            self._fault = self.error = ToolResultTypeError(self.call.name, wrong)

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
        return NOT_ENDED if self._begun or self._waits else NOT_BEGUN

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
        self.info = ToolInfo(name)
        self._text = text

    async def invoke(self, *_: object) -> str:
        """Return what the model is told."""
        return self._text


def absent_text(name: str, available: Sequence[str]) -> str:
    """Return what the model is told that called a tool which is not there."""
    return f"There is no tool {name!r}; available: {', '.join(available) or 'none'}."
