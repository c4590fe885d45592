"""The loop of a run that is kept: it can stop anywhere, and go on later (§5).

It takes the steps of ``loop.Loop`` in their order, from the one on where the run stood.
Here is what is kept of it and when: a step before the first iteration, one when the
model has called tools, one when their results are there, one at an interrupt and one at
the end (contract INT).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

from refengine.context import Context, at_point
from refengine.events import AgentEvent
from refengine.interrupts import ENTERED, Interrupt, Pending
from refengine.loop import SUCCESS, Loop, Status
from refengine.messages import History, Json, Message
from refengine.resume.calls import KeptCall, entry_of, know_answer
from refengine.resume.checkpoint import Phase, Point, Saved, Splice
from refengine.resume.errors import (
    ChangedAgentError,
    NotResumableError,
    UnknownInterruptError,
)
from refengine.resume.journal import refuse_other
from refengine.resume.keepable import changed_values, check
from refengine.resume.passes import KeptPass, Phases, Stop
from refengine.resume.steps import StepWriter
from refengine.struct_middleware import StateCell
from refengine.tool_calls import CallBatch, ToolCallRun
from refengine.tools import ToolInfo

if TYPE_CHECKING:
    from refengine.compiled import CompiledAgent
    from refengine.resume.checkpoint import Entry, TypeRegistry
    from refengine.resume.journal import LiveEntry

T = TypeVar("T")
Ask: TypeAlias = Callable[[Context], Awaitable[T | None]]
"""A call of the model: what came of it, None if the model is to be asked again."""
Answers = Mapping[str, Json]
BEFORE, MODEL, AFTER, TOOLS, AFTER_AGENT = range(1, 6)
"""The parts of an iteration in order, and what comes after the last one."""
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


class KeptPhases:
    """All hooks of a pass of a kept run; its loop has them in place of their phases."""

    __slots__ = ("_phase", "_phases", "_run")

    def __init__(self, run: KeptRun, phase: Phase, phases: Phases) -> None:
        self._run = run
        self._phase: Phase = phase
        self._phases = phases

    async def rewrite(
        self, ctx: Context, messages: Sequence[Message], cell: StateCell
    ) -> tuple[Context, Sequence[Message]]:
        """Send the history through the hooks, from where the run was interrupted."""
        passing = KeptPass(self._phases, self._run.writer)
        return await self._run.run_phases(self._phase, passing, ctx, messages, cell)


class KeptRun:
    """Keeps one run, or looks at it as if it were kept.

    What it asks of the store behind it, may raise NotKeepableError; what is awaited
    writes a step, and raises what the store raises.
    """

    __slots__ = (
        "_again",
        "_begun",
        "_knew_calls",
        "_left",
        "_response",
        "at",
        "loop",
        "saved",
        "writer",
    )

    def __init__(self, loop: Loop, writer: StepWriter, saved: Saved | None) -> None:
        self.loop: Loop = loop
        self.writer: StepWriter = writer
        self.saved: Saved | None = saved
        self.at: Point | None = None
        self._again: Point | None = None
        self._left: History | None = None
        self._begun = loop.history
        self._response: Message | None = None
        self._knew_calls = False
        machine = loop.machine
        if machine.before:
            loop.before = (KeptPhases(self, "before", machine.before),)
        if machine.after:
            loop.after = (KeptPhases(self, "after", machine.after),)
        if saved is not None:
            self.stand_where(saved)
        loop.locals = writer.begun(loop.history, saved.locals if saved else {})
        loop.ctx = at_point(loop.ctx, loop.run_path, None, loop.locals)

    def stand_where(self, saved: Saved) -> None:
        """Stand where the run stood."""
        loop, point = self.loop, saved.point
        loop.attempt = self.first_attempt(point)
        loop.history = _with_first(saved.messages, saved.first)
        loop.first = saved.first
        loop.iterations = self.writer.journal.iteration = saved.iteration
        if self._begins_again and point.phase in {"before", "model", "after"}:
            self._again = point
        elif point.phase != "iteration":
            self.at = point
        if point.sent is not None:
            kept = saved.messages[: point.sent.keep]
            left = (*kept, *point.sent.messages)
            self._left = _with_first(left, saved.first)
            if point.phase == "model":
                loop.this_call = self._left
        if point.phase == "after_agent":
            loop.status = cast("Status", point.status)
            loop.answer = point.answer
        if point.shown is not None:
            loop.shown_before = frozenset(point.shown)
        if point.shown is not None and point.phase == "tools":
            self._show(point.shown)

    def _show(self, names: Sequence[str]) -> None:
        """Know which tools the model was told before the run was kept."""
        loop = self.loop
        if loop.machine.profile.resumed_tools == "as_kept":
            known = {info.name: info for info in loop.plan.shown}
            shown = tuple(known.get(name, ToolInfo(name)) for name in names)
            loop.plan = replace(loop.plan, shown=shown)

    @property
    def _begins_again(self) -> bool:
        """Whether an iteration that was interrupted is begun once more."""
        return self.loop.machine.profile.resumed_iteration == "begins_again"

    def first_attempt(self, point: Point) -> int:
        """Return the attempt at the model with which a run goes on."""
        return point.attempt

    async def run(  # noqa: C901, PLR0912, PLR0915  # the order of a run, in one place
        self,
    ) -> AsyncGenerator[AgentEvent, None]:
        """Yield the events of the run; raises what ends it with an error.

        ``skip`` is the part of an iteration that comes first where it goes on.
        """
        loop = self.loop
        ask, open_answer = self.asking(loop.ask_model), self.asking(loop.open_answer)
        try:
            loop.start()
            loop.cell = StateCell(without_tools=loop.plan.without_tools)
            skip = await self.begin()
            while loop.status == "error" and (skip or self.next_iteration()):
                ctx = self.context()
                if loop.before and skip <= BEFORE:
                    ctx = await loop.before_model()
                if skip > MODEL:
                    response = self.response()
                elif loop.streaming:
                    answer = None
                    while answer is None:
                        if opened := await open_answer(ctx):
                            yield opened
                            answer = await loop.drained()
                    response = loop.taken(self.answered(answer))
                    await loop.come_out()
                else:
                    while (answer := await ask(ctx)) is None:
                        pass  # until an attempt gives one
                    response = loop.taken(self.answered(answer))
                    yield loop.tell(AgentEvent("model", loop.run_path, response))
                if loop.after and skip <= AFTER:
                    ctx = await loop.after_model(ctx)
                calls = loop.route(response)
                loop.owed = not calls and calls is not None
                if calls:
                    ctx = loop.tools_context(ctx)
                    loop.batch = batch = loop.batch_of(calls, ctx)
                    self.go_on_with(batch)
                    batch.ask_handler()
                    if skip < TOOLS:
                        await self.calls_begin(response, ctx)
                    while (event := await batch.next_event()) is not None:
                        yield event
                    await self.calls_ended(batch, response, ctx)
                elif loop.owed:
                    loop.status = "completed"
                skip = 0
            if loop.machine.after_agent and loop.status in SUCCESS:
                await self.after_agent()
                await loop.come_out()
            await self.end()
        except (Interrupt, BaseExceptionGroup) as error:
            yield await loop.interrupted(error)
        finally:
            await loop.leave()

    async def begin(self) -> int:
        """Begin, or go on: write the first step of this process.

        Return the part of the iteration that comes first, 0 if a new one does.
        """
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
        point, machine = self.at or self._again, self.loop.machine
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
        """Count one more; know for which iteration questions are asked."""
        loop = self.loop
        if not loop.next_iteration():
            return False
        loop.this_call = None
        if self._again is None:
            loop.shown_before = None
        self._begun = loop.history
        self.writer.journal.iteration = loop.iterations
        return True

    def context(self) -> Context:
        """Return the context of the iteration in which the run goes on."""
        return self.loop.ctx if self.at is None else self.context_at(self.at)

    def context_at(self, at: Point) -> Context:
        """Return the context as it was there."""
        ctx = self.loop.ctx
        for key, value in at.ctx.items():
            ctx = ctx.with_value(key, value)
        return ctx

    def response(self) -> Message:
        """Return the response of the iteration in which the run goes on."""
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
        self,
        phase: Phase,
        passing: KeptPass,
        ctx: Context,
        messages: Sequence[Message],
        cell: StateCell,
    ) -> tuple[Context, Sequence[Message]]:
        """Run the hooks of a pass one by one, from where it was interrupted."""
        again = self._again
        entry, start, at = self._entry(phase), 0, self._reached(phase)
        entered_at = 0 if again is None else again.at
        if at is not None:
            entry, start, entered_at = at.entries[0], at.at, at.at
            ctx = self.context_at(at)
            messages = messages if self._left is None else self._left
        where = {"start": start, "entered_at": entered_at}
        try:
            return await passing.rewrite(ctx, messages, cell, entry=entry, **where)
        except Interrupt:
            await self._stop_pass(phase, passing.stopped())
            raise

    async def _stop_pass(self, phase: Phase, stop: Stop) -> None:
        """Keep how far a pass came beside the history: an error drops its edits."""
        loop = self.loop
        same = self._begins_again or stop.messages is loop.history
        sent = None if same else _splice(stop.messages, loop.history)
        values = changed_values(stop.ctx, loop.ctx)
        point = Point(phase, stop.at, values, sent, (stop.entry,))
        if phase == "after":
            point = replace(point, answer=self._response, shown=self._tools_shown())
        await self._stop(point, (stop.pending,))

    async def after_agent(self) -> None:
        """Run the hooks after the run, from where it was interrupted."""
        loop = self.loop
        passing = KeptPass((loop.machine.after_agent,), self.writer)
        at = self._reached("after_agent")
        try:
            await passing.observe(
                loop.ctx if at is None else self.context_at(at),
                loop.history,
                0 if at is None else at.at,
                None if at is None else at.entries[0],
            )
        except Interrupt:
            stop = passing.stopped()
            values = changed_values(stop.ctx, loop.ctx)
            point = Point("after_agent", stop.at, values, entries=(stop.entry,))
            point = replace(point, answer=loop.answer, status=loop.status)
            await self._stop(point, (stop.pending,))
            raise

    # --- the model

    def asking(self, ask: Ask[T]) -> Ask[T]:
        """Return a call of the model that is kept where it is interrupted."""

        async def enter(ctx: Context) -> T | None:
            at = self._reached("model")
            entry = self._entry("model") if at is None else at.entries[0]
            live = self.writer.journal.root("model", "model", entry)
            token = ENTERED.set(live)
            try:
                return await ask(ctx)
            except Interrupt as stop:
                await live.stop(stop)
                await self._stop_model(ctx, live)
                raise
            finally:
                ENTERED.reset(token)

        return enter

    async def _stop_model(self, ctx: Context, live: LiveEntry) -> None:
        loop, sent = self.loop, None
        if loop.this_call is not None:
            sent = _splice(loop.this_call, loop.history)
        values = changed_values(ctx, loop.ctx)
        number = 1 if loop.attempts is None else loop.attempts.number
        entries, shown = (live.entry(),), self._tools_shown()
        point = Point("model", 0, values, sent, entries, number, shown)
        await self._stop(point, (live.pending,))

    def answered(self, answer: Message) -> Message:
        """Look at what the model gave; return what the run goes on with."""
        response = self.loop.in_time(answer)
        self.writer.response(answer)
        self._response = response
        return response

    # --- the calls of a message

    def go_on_with(self, batch: CallBatch) -> None:
        """Note what becomes of the calls of a message, from what was kept of them.

        No event is told again that the consumer had before the run was interrupted.
        """
        at = self._reached("tools")
        known = () if at is None else at.entries
        self._knew_calls = bool(known)
        for call, entry in zip(batch.calls, chain(known, repeat(None)), strict=False):
            if isinstance(call, ToolCallRun):
                call.record = KeptCall(call, entry, self.writer.journal)
            elif entry is not None:
                know_answer(call, entry)
        if at is not None:
            batch.delivered_before = frozenset(batch.calls[each] for each in at.told)

    async def calls_begin(self, response: Message, ctx: Context) -> None:
        """Keep that the model has called tools."""
        await self._step(self._tools_point(ctx, response))

    async def calls_ended(
        self, batch: CallBatch, response: Message, ctx: Context
    ) -> None:
        """Keep where calls asked, or failed, or their results.

        Raises Interrupt if one asks, and the first error.
        """
        error = batch.error()
        if batch.interrupted and self.writer.waits_despite(error):
            pending = batch.pending(self.loop.run_path, self.loop.iterations)
            entries = tuple(entry_of(call) for call in batch.calls)
            point = self._tools_point(ctx, response)
            point = replace(point, entries=entries, told=_delivered(batch))
            await self._stop(point, pending)
            raise Interrupt
        if error is not None and self._knew_calls and not batch.interrupted:
            await self._step(self._failed_point(batch, response, ctx))
        await self.loop.come_out()
        self.loop.end_calls(batch)
        if self.loop.status == "error":
            await self.settled()

    async def settled(self) -> None:
        """Keep the results of the calls."""
        await self._step(Point())

    def _failed_point(self, batch: CallBatch, response: Message, ctx: Context) -> Point:
        """Return where a run stands whose calls failed after an interrupt.

        Who resumes it tries those that failed once more: they were kept while another
        one asked, and would fail the same for ever.
        """
        entries = tuple(None if each.error else entry_of(each) for each in batch.calls)
        told = tuple(at for at in _delivered(batch) if entries[at] is not None)
        point = self._tools_point(ctx, response)
        return replace(point, entries=entries, told=told)

    def _tools_point(self, ctx: Context, response: Message) -> Point:
        values = changed_values(ctx, self.loop.ctx)
        return Point("tools", ctx=values, shown=self._tools_shown(), answer=response)

    def _tools_shown(self) -> tuple[str, ...]:
        """Return which tools the model was told in this iteration."""
        call, before = self.loop.model_call, self.loop.shown_before
        shown = self.loop.plan.shown if call is None else call.shown
        names = tuple(info.name for info in shown)
        if before is None or (call and call.reached):
            return names
        return tuple(name for name in names if name in before)

    # --- steps

    async def end(self) -> None:
        """Keep what the run ended with."""
        loop = self.loop
        await self._step(Point("end", answer=loop.answer, status=loop.status))

    async def _stop(self, point: Point, pending: tuple[Pending, ...]) -> None:
        """Write where the run was interrupted; an iteration may have to begin again."""
        history = self.loop.history
        if self._begins_again and point.phase in {"before", "model", "after"}:
            history = self._begun
        await self._step(point, pending, history)
        self.loop.interrupts = pending

    async def _step(
        self,
        point: Point,
        pending: tuple[Pending, ...] = (),
        history: History | None = None,
    ) -> None:
        loop = self.loop
        used = self.writer.journal.used()
        point = replace(point, used=used) if used else point
        await self.writer.step(
            loop.iterations,
            loop.history if history is None else history,
            loop.locals,
            point,
            pending,
            first=loop.first,
        )


async def read_saved(
    machine: CompiledAgent, key: str | None, answers: Answers | None
) -> Saved:
    """Return what was kept of a run; raises why it cannot go on with these answers."""
    if machine.keeper is None or key is None:
        raise AssertionError
    saved = await machine.keeper.read(key)
    refuse_resuming(machine, key, answers, saved)
    return saved


def keep(
    loop: Loop,
    types: TypeRegistry,
    given: tuple[Message, ...],
    key: str | None,
    saved: Saved | None,
    answers: Answers | None,
) -> KeptRun:
    """Return a run that is kept: a new one, or one that goes on from what was kept."""
    machine = loop.machine
    writer = StepWriter(
        *(machine.keeper, types, key, loop.run_path, machine.profile, given),
        streaming=loop.streaming,
    )
    if saved is not None:
        saved = writer.go_on(saved, answers)
    return KeptRun(loop, writer, saved)


def refuse_resuming(
    machine: CompiledAgent, key: str, answers: Answers | None, saved: Saved
) -> None:
    """Raise why a run cannot go on from what was kept of it, with these answers."""
    start, point = saved.start, saved.point
    if machine.keeper is None:
        raise AssertionError
    if point.phase == "end":
        raise NotResumableError(key, point.status)
    for what, before, now in (
        ("an agent named", start.agent, machine.name),
        ("profile", start.profile, machine.profile.name),
    ):
        if before != now:
            raise ChangedAgentError(what, before, now)
    _check_answers(answers, saved, machine.keeper.types)


def _check_answers(answers: Answers | None, saved: Saved, types: TypeRegistry) -> None:
    """Raise UnknownInterruptError for an answer to what does not wait, or for none.

    Raises NotKeepableError for one that could not be kept with the next step.
    """
    if answers is None:
        return
    waiting = [str(each.address) for each in saved.pending]
    unknown = [each for each in answers if each not in waiting]
    if unknown or not answers:
        given = str(unknown[0]) if unknown else "(no answer at all)"
        raise UnknownInterruptError(given, waiting)
    for address, answer in answers.items():
        check(types, answer, ("the caller", "resume"), f"answers[{address!r}]")


def _delivered(batch: CallBatch) -> tuple[int, ...]:
    """Return the places of the calls whose events the consumer has had."""
    had = {*batch.delivered_before, *(call for call, _ in batch.delivered)}
    return tuple(at for at, call in enumerate(batch.calls) if call in had)


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
