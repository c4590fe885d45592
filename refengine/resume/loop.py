"""The loop of an agent that keeps its runs: it can stop anywhere, and go on later.

What a run does is ``react.Loop``, in its order. Here is what is kept of it and when: a
step before the first iteration, one when the model has called tools, one when their
results are there, one at an interrupt and one at the end. Contract INT, §5.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn, TypeVar, cast

from refengine.context import at_point
from refengine.interrupts import ENTERED, Interrupt, Pending
from refengine.loop import AFTER, AFTER_AGENT, BEFORE, MODEL, TOOLS, Loop, Status
from refengine.messages import History, Message, ToolCall, as_history
from refengine.resume.checkpoint import Phase, Point, Saved, Splice
from refengine.resume.errors import ChangedAgentError
from refengine.resume.journal import refuse_other
from refengine.resume.keepable import changed_values
from refengine.resume.passes import KeptPass, Stop
from refengine.tool_calls import AnyCall, CallBatch, ToolCallRun, UnknownCall
from refengine.tools import ToolInfo

if TYPE_CHECKING:
    from refengine.chain import Pipeline
    from refengine.context import Context
    from refengine.events import AgentEvent
    from refengine.resume.checkpoint import Entry
    from refengine.resume.journal import LiveEntry
    from refengine.resume.keeping import Keeping
    from refengine.struct_middleware import LegacyPass
    from refengine.tool_onion import BoundTool

T = TypeVar("T")
_PARTS: Final[Mapping[Phase, int]] = MappingProxyType(
    {
        "before": BEFORE,
        "model": MODEL,
        "after": AFTER,
        "tools": TOOLS,
        "after_agent": AFTER_AGENT,
    }
)
"""Which part of an iteration comes first where a run goes on; else a new one does."""


class KeptLoop(Loop):
    """The state of one run that is kept, or looked at as if it were."""

    keeps: ClassVar[bool] = True
    __slots__ = (
        "_again",
        "_attempt",
        "_begun",
        "_entries",
        "_knew_calls",
        "_left",
        "_response",
        "_shown",
        "at",
        "keep",
        "saved",
    )

    def prepare(self, keep: Keeping, saved: Saved | None) -> None:
        """Take over how the run is kept, and what was kept of it before."""
        self.keep = keep
        self.saved = saved
        self.at: Point | None = None
        self._again: Point | None = None
        self._attempt = 1
        self._left: History | None = None
        self._begun = self.history
        self._response: Message | None = None
        self._entries: Iterator[Entry | None] = iter(())
        self._knew_calls = False
        self._shown: frozenset[str] | None = None
        if saved is not None:
            self._take(saved)
        self.locals = keep.begun(self.history, {} if saved is None else saved.locals)
        self.ctx = at_point(self.ctx, self.run_path, None, self.locals)

    def _take(self, saved: Saved) -> None:
        """Stand where the run stood."""
        point = saved.point
        self._attempt = point.attempt
        self.history = _with_first(saved.messages, saved.first)
        self.first = saved.first
        self.iterations = self.keep.journal.iteration = saved.iteration
        begins = self.machine.profile.resumed_iteration == "begins_again"
        if begins and point.phase in {"before", "model", "after"}:
            self._again = point
        elif point.phase != "iteration":
            self.at = point
        if point.sent is not None:
            kept = saved.messages[: point.sent.keep]
            left = (*kept, *point.sent.messages)
            self._left = _with_first(left, saved.first)
            if point.phase == "model":
                self.this_call = self._left
        if point.phase == "after_agent":
            self.status = cast("Status", point.status)
            self.answer = point.answer
        if point.shown is not None:
            self._shown = frozenset(point.shown)
        if point.shown is not None and point.phase == "tools":
            self._show(point.shown)

    def _show(self, names: Sequence[str]) -> None:
        """Know which tools the model was told before the run was kept."""
        if self.machine.profile.resumed_tools == "as_kept":
            known = {info.name: info for info in self.plan.shown}
            shown = tuple(known.get(name, ToolInfo(name)) for name in names)
            self.plan = replace(self.plan, shown=shown)

    async def begin(self) -> int:
        """Begin, or go on: write the first step of this process."""
        await super().begin()
        self._refuse_gone()
        if self.saved is None:
            await self._step(Point())
        else:  # before anything is done: of two who resume one run, one is refused here
            await self._step(self.saved.point, self.saved.pending)
        return 0 if self.at is None else _PARTS[self.at.phase]

    def _refuse_gone(self) -> None:
        """Raise ChangedAgentError if the agent has no hook at all where it stands.

        Else a gate would be passed because it was taken away.
        """
        point, machine = self.at or self._again, self.machine
        if point is None or not point.entries or point.phase == "tools":
            return
        entry = point.entries[0]
        if point.phase == "model" and entry is not None:
            entry = entry.inner[0] if entry.inner else None
        has: Mapping[Phase, object] = {
            "before": machine.before,
            "model": machine.model,
            "after": machine.after,
            "after_agent": machine.after_agent,
        }
        if entry is not None and entry.hook != "model" and not has[point.phase]:
            refuse_other("a hook", entry, None)

    def next_iteration(self) -> bool:
        """Count one more, and know for which iteration questions are asked."""
        self.this_call = None
        if self._again is None:
            self._shown = None
        found = super().next_iteration()
        self._begun = self.history
        self.keep.journal.iteration = self.iterations
        return found

    async def _model_context(self, skip: int) -> Context:
        if skip > BEFORE and self.at is not None:
            return self._ctx_at(self.at)
        return await super()._model_context(skip)

    def _ctx_at(self, at: Point) -> Context:
        ctx = self.ctx
        for key, value in at.ctx.items():
            ctx = ctx.with_value(key, value)
        return ctx

    def _response_at(self) -> Message:
        if self.at is None or self.at.answer is None:
            raise AssertionError
        self._response = self.at.answer
        return self._response

    def _reached(self, phase: Phase) -> Point | None:
        """Return where the run stood, if it was in this part, and forget it."""
        at = self.at
        if at is None or at.phase != phase:
            return None
        self.at = None
        return at

    def _entry(self, phase: Phase) -> Entry | None:
        """Return the entry of an iteration that begins again, if it was here."""
        again = self._again
        if again is None or again.phase != phase:
            return None
        self._again = None
        return again.entries[0]

    # --- hooks of a pass

    async def run_phases(
        self, phases: Sequence[LegacyPass | Pipeline], ctx: Context
    ) -> Context:
        """Run the hooks of a pass one by one, from where it was interrupted."""
        phase: Phase = "before" if phases is self.machine.before else "after"
        passing = KeptPass(phases, self.keep)
        again = self._again
        entry, start, at = self._entry(phase), 0, self._reached(phase)
        asked = 0 if again is None else again.at
        messages = self.history
        if at is not None:
            entry, start, asked = at.entries[0], at.at, at.at
            ctx = self._ctx_at(at)
            messages = messages if self._left is None else self._left
        try:
            ctx, left = await passing.rewrite(
                ctx, messages, self._cell, start=start, asked=asked, entry=entry
            )
        except Interrupt:
            await self._stop_pass(phase, passing.stopped())
            raise
        self.history = as_history(left)
        return at_point(ctx, self.run_path, None, self.locals)

    async def _stop_pass(self, phase: Phase, stop: Stop) -> None:
        """Keep how far a pass came beside the history: an error drops its edits."""
        begins = self.machine.profile.resumed_iteration == "begins_again"
        same = begins or stop.messages is self.history
        sent = None if same else _splice(stop.messages, self.history)
        values = changed_values(stop.ctx, self.ctx)
        point = Point(phase, stop.at, values, sent, (stop.entry,))
        if phase == "after":
            point = replace(point, answer=self._response, shown=self._told())
        await self._stop(point, (stop.pending,))

    async def _after_agent(self) -> None:
        passing = KeptPass((self.machine.after_agent,), self.keep)
        at = self._reached("after_agent")
        try:
            await passing.observe(
                self.ctx if at is None else self._ctx_at(at),
                self.history,
                0 if at is None else at.at,
                None if at is None else at.entries[0],
            )
        except Interrupt:
            stop = passing.stopped()
            values = changed_values(stop.ctx, self.ctx)
            point = Point("after_agent", stop.at, values, entries=(stop.entry,))
            point = replace(point, answer=self.answer, status=self.status)
            await self._stop(point, (stop.pending,))
            raise

    # --- the model

    def _first_attempt(self) -> int:
        number, self._attempt = self._attempt, 1
        return number

    async def ask_model(self, ctx: Context) -> Message | None:
        """Return the answer, or keep where the call of the model was interrupted."""
        return await self._ask(ctx, super().ask_model)

    async def open_answer(self, ctx: Context) -> AgentEvent | None:
        """Open the answer, or keep where the call of the model was interrupted."""
        return await self._ask(ctx, super().open_answer)

    async def _ask(self, ctx: Context, call: Callable[[Context], Awaitable[T]]) -> T:
        at = self._reached("model")
        entry = self._entry("model") if at is None else at.entries[0]
        place = self.keep.journal.root("model", "model", entry)
        token = ENTERED.set(place)
        try:
            return await call(ctx)
        except Interrupt as stop:
            await place.stop(stop)
            await self._stop_model(ctx, place)
            raise
        finally:
            ENTERED.reset(token)

    async def _stop_model(self, ctx: Context, place: LiveEntry) -> None:
        sent = None
        if self.this_call is not None:
            sent = _splice(self.this_call, self.history)
        values = changed_values(ctx, self.ctx)
        number = 1 if self.attempts is None else self.attempts.number
        entries = (place.entry(),)
        point = Point("model", 0, values, sent, entries, number, self._told())
        await self._stop(point, (place.pending,))

    def _in_time(self, response: Message) -> Message:
        self.keep.response(response)
        self._response = super()._in_time(response)
        return self._response

    # --- the calls of a message

    def batch_of(self, calls: Sequence[ToolCall], ctx: Context) -> CallBatch:
        """Return the calls, those that were kept as they were."""
        at = self._reached("tools")
        known = () if at is None else at.entries
        self._knew_calls = bool(known)
        self._entries = iter((*known, *[None] * (len(calls) - len(known))))
        batch = super().batch_of(calls, ctx)
        if at is not None:
            batch.go_on(at.told)
        return batch

    def prepare_call(self, call: ToolCall, bound: Mapping[str, BoundTool]) -> AnyCall:
        """Return the call with what was kept of it."""
        made = super().prepare_call(call, bound)
        if isinstance(made, ToolCallRun):
            entry = next(self._entries)
            journal = self.keep.journal
            place = journal.root("call", call.name, entry, call=(call.name, call.id))
            waits = entry is not None and not entry.done and not journal.goes_on(entry)
            made.keep(place, waits=waits)
        return made

    def _unknown(self, call: ToolCall, answer: Callable[[str, str], str]) -> AnyCall:
        entry = next(self._entries)
        if entry is not None and not entry.done:
            raise ChangedAgentError("a tool", entry.owner, "none of that name")
        return UnknownCall(call, answer, entry)

    def _is_hidden(self, name: str) -> bool:
        if self._shown is None or (self.model_call and self.model_call.reached):
            return super()._is_hidden(name)
        hides = self.machine.model and self.machine.profile.hidden_tool != "runs"
        return bool(hides) and name not in self._shown

    async def _begin_calls(self, response: Message, ctx: Context, skip: int) -> None:
        if skip < TOOLS:
            await self._step(self._tools_point(ctx, response))

    async def _end_calls(
        self, batch: CallBatch, response: Message, ctx: Context
    ) -> None:
        if batch.interrupted and self.keep.goes_on_beside(batch.error()):
            await self._stop_calls(batch, response, ctx)
        if batch.error() is not None and self._knew_calls and not batch.interrupted:
            await self._step(self._failed_point(batch, response, ctx))
        await super()._end_calls(batch, response, ctx)
        if self.status == "error":
            await self._step(Point())

    def _failed_point(self, batch: CallBatch, response: Message, ctx: Context) -> Point:
        """Return where a run stands whose calls failed after an interrupt.

        Who resumes it tries those that failed once more: they were kept while another
        one asked, and would fail the same for ever.
        """
        entries = tuple(None if each.error else each.entry() for each in batch.calls)
        told = tuple(at for at in batch.told() if entries[at] is not None)
        point = self._tools_point(ctx, response)
        return replace(point, entries=entries, told=told)

    async def _stop_calls(
        self, batch: CallBatch, response: Message, ctx: Context
    ) -> NoReturn:
        pending = batch.pending(self.run_path, self.iterations)
        entries = tuple(call.entry() for call in batch.calls)
        point = self._tools_point(ctx, response)
        point = replace(point, entries=entries, told=batch.told())
        await self._stop(point, pending)
        raise Interrupt

    def _tools_point(self, ctx: Context, response: Message) -> Point:
        values = changed_values(ctx, self.ctx)
        return Point("tools", ctx=values, shown=self._told(), answer=response)

    def _told(self) -> tuple[str, ...]:
        """Return which tools the model was told in this iteration."""
        call = self.model_call
        shown = self.plan.shown if call is None else call.shown
        names = tuple(info.name for info in shown)
        if self._shown is None or (call and call.reached):
            return names
        return tuple(name for name in names if name in self._shown)

    # --- steps

    async def _end(self) -> None:
        await super()._end()
        await self._step(Point("end", answer=self.answer, status=self.status))

    async def _stop(self, point: Point, pending: tuple[Pending, ...]) -> None:
        """Write where the run was interrupted; an iteration may have to begin again."""
        history = self.history
        begins = self.machine.profile.resumed_iteration == "begins_again"
        if begins and point.phase in {"before", "model", "after"}:
            history = self._begun
        await self._step(point, pending, history)
        self.interrupts = pending

    async def _step(
        self,
        point: Point,
        pending: tuple[Pending, ...] = (),
        history: History | None = None,
    ) -> None:
        used = self.keep.journal.used()
        point = replace(point, used=used) if used else point
        await self.keep.step(
            self.iterations,
            self.history if history is None else history,
            self.locals,
            point,
            pending,
            first=self.first,
        )


def _with_first(messages: tuple[Message, ...], first: Message | None) -> History:
    """Return a history in which the message that the engine put first is that object.

    One that was moved since has come back as another object that is equal to it.
    """
    if first is None or any(each is first for each in messages):
        return History(messages)
    at = next((at for at, each in enumerate(messages) if each == first), None)
    if at is None:
        return History(messages)
    return History((*messages[:at], first, *messages[at + 1 :]))


def _splice(new: History, old: History) -> Splice:
    keep = new.shared(old)
    return Splice(keep, new.since(keep))
