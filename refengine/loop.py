"""The loop: model, route, tools, until an answer (contract §2).

    before_model → model onion → after_model → route → tool onions → again
                                                  └→ after_agent, if it succeeded

One ``Loop`` is one run. It is an async generator that the consumer pulls, so nothing
runs ahead of who reads the events, and no task is needed for a run. A run that is kept
is a loop of its own, ``resume.keeper.KeptRun``, which takes the steps of this one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast

from refengine.awaiting import CancellationWatch
from refengine.chain import CallScope, Pipeline
from refengine.compiled import CompiledAgent
from refengine.context import Context, RunLocals, at_point
from refengine.errors import MaxIterationsExceededError, ToolNotFound
from refengine.events import AgentEvent, Chunk, Notice
from refengine.interrupts import Address, Interrupt, Pending, interrupt_in
from refengine.messages import (
    History,
    Json,
    Message,
    MessageChunk,
    ToolCall,
    as_history,
    join_chunks,
)
from refengine.model import ModelRequest
from refengine.model_calls import Attempts, ModelCall, ModelRetry, raise_as
from refengine.plan import Plan
from refengine.routing import (
    answer_of,
    answered,
    last_assistant,
    next_calls,
    refuse_unanswered,
    with_results,
)
from refengine.shared_stream import SharedStream
from refengine.stream import StreamReader
from refengine.struct_middleware import Phase, StateCell
from refengine.tool_calls import (
    AbsentCall,
    AbsentTool,
    AnyCall,
    CallBatch,
    CallsAtOnce,
    ToolCallRun,
    UnknownCall,
    absent_text,
)
from refengine.tool_onion import BoundTool
from refengine.tools import NO_OPTIONS, Options, ToolMeta

Status: TypeAlias = Literal[
    "completed",
    "returned_directly",
    "max_iterations",
    "interrupted",
    "error",
    "cancelled",
]

SUCCESS: Final = frozenset(("completed", "returned_directly"))
APOLOGY: Final = "There was no iteration left to run these calls."
"""What the answer is where calls come too late (posture ``exhaustion``)."""


class Loop:
    """The state of one run."""

    __slots__ = (
        "_answers",
        "_follows",
        "_single_call",
        "after",
        "answer",
        "attempt",
        "attempts",
        "batch",
        "before",
        "bound",
        "cell",
        "ctx",
        "events",
        "first",
        "history",
        "interrupts",
        "iterations",
        "live",
        "locals",
        "machine",
        "model_call",
        "options",
        "owed",
        "plan",
        "run_path",
        "sends_history",
        "shown_before",
        "status",
        "streaming",
        "system",
        "this_call",
        "watch",
    )
    watch: CancellationWatch
    """Set by whoever runs it: knows whether the run was cancelled."""
    cell: StateCell
    """What the passes of an iteration share; there where it has any."""
    attempt: int
    """The attempt at the model that the iteration begins with."""
    shown_before: frozenset[str] | None
    """The tools that the model was told before the run was kept, if it goes on."""

    def __init__(
        self,
        machine: CompiledAgent,
        plan: Plan,
        ctx: Context,
        messages: Sequence[Message],
        streaming: bool,
        options: Options = NO_OPTIONS,
    ) -> None:
        self.owed: bool = False
        self.interrupts: tuple[Pending, ...] = ()
        self.machine: CompiledAgent = machine
        self.before: Sequence[Phase] = machine.before
        self.after: Sequence[Phase] = machine.after
        self.attempt = 1
        self.shown_before = None
        self.plan: Plan = plan
        self.streaming: bool = streaming
        self.options: Options = options
        self.locals: RunLocals = {}
        self.run_path: tuple[str, ...] = (*ctx.run_path, machine.name)
        self.ctx: Context = at_point(ctx, self.run_path, None, self.locals)
        self.bound: Mapping[str, BoundTool] = {}
        self._single_call = plan.without_tools and machine.calls_once
        self.model_call: ModelCall | None = None
        self.attempts: Attempts | None = None
        self.live: SharedStream[MessageChunk] | None = None
        self.batch: CallBatch | None = None
        self.sends_history: bool = machine.sends_history
        self._follows = machine.profile.changed_call_id == "taken_over"
        self._answers = machine.profile.wrapper_raises == "answered"
        self.system: Message | None = None
        self.this_call: History | None = None
        self.history: History = History(messages)
        self.first: Message | None = None
        if plan.instruction:
            system = Message("system", plan.instruction)
            if machine.profile.instruction_place == "in_history":
                self.first = system
                self.history = self.history.after(system)
            else:
                self.system = system
        self.status: Status = "error"
        self.answer: Message | None = None
        self.iterations: int = 0
        self.events: list[AgentEvent] = []

    async def run(  # noqa: C901, PLR0912  # the order of a run, in one place
        self,
    ) -> AsyncGenerator[AgentEvent, None]:
        """Yield the events of the run; raises what ends it with an error.

        What needs no waiting is not awaited: a coroutine for each part made a run
        without handlers a tenth slower.
        """
        watch = self.watch
        try:
            self.start()
            while self.status == "error" and self.next_iteration():
                ctx = await self.before_model() if self.before else self.ctx
                if self.streaming:
                    answer = None
                    while answer is None:
                        if opened := await self.open_answer(ctx):
                            yield opened
                            answer = await self.drained()
                    response = self.taken(self.in_time(answer))
                    await self.come_out()
                else:
                    while (answer := await self.ask_model(ctx)) is None:
                        pass  # until an attempt gives one
                    response = self.taken(self.in_time(answer))
                    yield self.tell(AgentEvent("model", self.run_path, response))
                if self.after:
                    ctx = await self.after_model(ctx)
                calls = self.route(response)
                self.owed = not calls and calls is not None
                if calls:
                    self.batch = batch = self.batch_of(calls, self.tools_context(ctx))
                    batch.ask_handler()
                    while (event := await batch.next_event()) is not None:
                        yield event
                    if watch.count() > watch.had:
                        await self.come_out()
                    self.end_calls(batch)
                elif self.owed:
                    self.status = "completed"
            if self.status in SUCCESS and self.machine.after_agent:
                await self.machine.after_agent.observe(self.ctx, self.history)
                await self.come_out()
        except (Interrupt, BaseExceptionGroup) as error:
            yield await self.interrupted(error)
        finally:
            await self.leave()

    def start(self) -> None:
        """Start the run: bind its tools."""
        if not self._single_call:
            self.bound = self.machine.binder.for_run(self.plan)

    async def after_model(self, ctx: Context) -> Context:
        """Run the after-model phases; return the context that they leave."""
        ctx = await self.run_phases(self.after, ctx)
        await self.come_out()
        return ctx

    def end_calls(self, batch: CallBatch) -> None:
        """Keep the results; raises the first error, or Interrupt if a call asks."""
        if batch.interrupted and batch.error() is None:
            self.interrupts = batch.pending(self.run_path, self.iterations)
            raise Interrupt
        if self.settle(batch):
            self.status = "returned_directly"

    async def come_out(self) -> None:
        """Raise the CancelledError that a hook or a wrapper of a stream swallowed."""
        if self.watch.cancelled:
            await self.watch.come_out()

    def next_iteration(self) -> bool:
        """Count one more, checked before its first hook; False if none is left."""
        machine = self.machine
        limit = machine.max_iterations
        if self.iterations < limit:
            self.iterations += 1
            if self.before or self.after:
                self.cell = StateCell(without_tools=self.plan.without_tools)
            return True
        if machine.profile.exhaustion != "outcome":
            raise MaxIterationsExceededError(limit)
        self.status = "max_iterations"
        self.answer = last_assistant(self.history)
        return False

    async def before_model(self) -> Context:
        """Run the before-model phases; return the context the model is called with."""
        profile, kept = self.machine.profile, self.history
        ctx = await self.run_phases(self.before, self.ctx)
        await self.come_out()
        if profile.before_model_edits == "this_call":
            self.this_call, self.history = self.history or None, kept
        return self.ctx if profile.model_context == "before_hooks" else ctx

    def tools_context(self, ctx: Context) -> Context:
        """Return the context of the tools, given that of the hooks before them."""
        reaches = self.machine.profile.model_context
        return ctx if reaches == "iteration" else self.ctx

    async def run_phases(self, phases: Sequence[Phase], ctx: Context) -> Context:
        """Run the hooks of a pass; return the context that they leave."""
        messages: Sequence[Message] = self.history
        for phase in phases:
            if isinstance(phase, Pipeline):
                ctx, messages = await phase.rewrite(ctx, messages)
            else:
                ctx, messages = await phase.rewrite(ctx, messages, self.cell)
        self.history = as_history(messages)
        return at_point(ctx, self.run_path, None, self.locals)

    def _sent(self) -> History:
        """Return what the model is sent, where that is not just the history.

        Raises UnansweredCallsError.
        """
        sent = self.history if self.this_call is None else self.this_call
        if self.machine.profile.unanswered_calls == "refused":
            refuse_unanswered(sent)
        return sent if self.system is None else sent.after(self.system)

    def in_time(self, response: Message) -> Message:
        """Return the response, or an apology for calls that come too late to run."""
        if not self.machine.apologises or not response.tool_calls:
            return response
        late = self.iterations == self.machine.max_iterations
        return Message("assistant", APOLOGY) if late else response

    def taken(self, response: Message) -> Message:
        """Put the response into the history; until its calls begin they are owed."""
        self.history = self.history.appended(response)
        self.owed, self.attempts = True, None
        return response

    async def ask_model(self, ctx: Context) -> Message | None:
        """Return the answer, None if the model is to be asked again."""
        onion = self.machine.model
        if self.machine.asks_bare:
            sent = self.history if self.sends_history else self._sent()
            return await onion.bare(ctx, sent, self.plan.shown, self.options)
        if onion.retry is not None:
            self.attempts = asking = self.attempts or self._begin_asking(onion.retry)
            self.model_call = asking.call
            return await asking.ask(asking.call.invoke, ctx)
        self.model_call = call = self._call_model()
        return await call.invoke(ctx)

    async def open_answer(self, ctx: Context) -> AgentEvent | None:
        """Return the event of an answer, None if the model is to be asked again."""
        retry = self.machine.model.retry
        if retry is not None:
            self.attempts = asking = self.attempts or self._begin_asking(retry)
            self.model_call = asking.call
            self.live = live = await asking.ask(asking.call.stream, ctx)
            if live is None:
                return None
            reader = asking.reader(live)
        else:
            self.model_call = call = self._call_model()
            self.live = live = await call.stream(ctx)
            reader = live.reader()
        stream = cast("StreamReader[Chunk]", reader)
        return AgentEvent("model", self.run_path, stream=stream)

    async def drained(self) -> Message | None:
        """Read the rest of the answer; what came of it is told in either case.

        None comes back if it broke, and the model is to be asked again.
        """
        live, call = self.live, self.model_call
        if live is None or call is None:
            raise AssertionError
        try:
            message = join_chunks(await live.drain())
        except Exception as error:  # noqa: BLE001  # raise_as raises it
            self.live = None
            self._tell_answer(live, None)
            if self.attempts is None:
                raise_as(error, call.leaving(error))
            broke = error
        else:
            self.live = None
            self._tell_answer(live, message)
            return message
        await self.attempts.broke(broke)
        return None

    def _begin_asking(self, retry: ModelRetry) -> Attempts:
        """Begin the attempts of this iteration."""
        at = self.run_path, self.locals
        number, self.attempt = self.attempt, 1
        return Attempts(self.machine.model, self._request(), at, retry, number)

    def _tell_answer(
        self, live: SharedStream[MessageChunk], message: Message | None
    ) -> None:
        chunks = tuple(live.chunks)
        self.tell(AgentEvent("model", self.run_path, message, chunks=chunks))

    def _call_model(self) -> ModelCall:
        request = self._request()
        return ModelCall(self.machine.model, request, self.run_path, self.locals)

    def _request(self) -> ModelRequest:
        sent = self.history if self.sends_history else self._sent()
        return ModelRequest(sent, self.plan.shown, self.options, self.streaming)

    def route(self, response: Message) -> tuple[ToolCall, ...] | None:
        """Return the calls to run next, none if the run completes (contract MSG).

        None comes back if the model is asked again at once.
        """
        machine = self.machine
        calls: tuple[ToolCall, ...] | None = ()
        if not self._single_call or machine.profile.route == "last_left":
            calls = next_calls(
                machine.profile, response, self.history, hooked=bool(self.after)
            )
        if self._single_call or not calls:
            if calls is None and not self._single_call:
                return None
            self.answer = answer_of(machine.profile, response, self.history)
            return ()
        return calls

    def batch_of(self, calls: Sequence[ToolCall], ctx: Context) -> CallBatch:
        """Return the calls of one message, ready to run."""
        profile = self.machine.profile
        bound = self.machine.binder.for_message(self.plan, self.bound)
        each = [self.prepare_call(call, bound) for call in calls]
        runs = [call for call in each if isinstance(call, ToolCallRun)]
        direct = self.direct_call(each) if profile.direct_event == "last" else None
        held = direct if isinstance(direct, ToolCallRun) else None
        batch = self.machine.batches[self.streaming]
        if batch is CallsAtOnce and len(runs) == 1:
            batch = CallBatch  # a task would cost more than all else that a call needs
        return batch(each, runs, ctx, self.streaming, held=held, profile=profile)

    def prepare_call(self, call: ToolCall, bound: Mapping[str, BoundTool]) -> AnyCall:
        """Return the call, ready to run; raises ToolNotFound before any runs."""
        tool = bound.get(call.name)
        if tool is not None and not self._is_hidden(call.name):
            scope = self._scope(tool, call.id)
            return ToolCallRun(call, tool, scope, self.options)
        answer = self.machine.tools_config.unknown_tools_handler
        if answer is not None:
            return UnknownCall(call, answer)
        available = [name for name in bound if not self._is_hidden(name)]
        if self.machine.profile.unknown_tool == "abort":
            raise ToolNotFound(call.name, available)
        return self.absent_call(call, absent_text(call.name, available))

    def absent_call(self, call: ToolCall, text: str) -> AbsentCall:
        """Return a call, wrapped as any other, whose tool gives just that text."""
        tool = self.machine.binder.bound(ToolMeta(AbsentTool(call.name, text)))
        return AbsentCall(call, tool, self._scope(tool, call.id), self.options)

    def _scope(self, tool: BoundTool, call_id: str) -> CallScope:
        again = self.machine.model.raises_again
        how = self._follows, again, self._answers
        return CallScope(self.run_path, self.locals, tool, call_id, *how)

    def _is_hidden(self, name: str) -> bool:
        """Tell whether a wrapper took the tool out of the last request."""
        call, machine = self.model_call, self.machine
        if not machine.model or machine.profile.hidden_tool == "runs":
            return False
        if self.shown_before is not None and not (call and call.reached):
            return name not in self.shown_before
        return call is not None and all(info.name != name for info in call.shown)

    def direct_call(self, runs: Sequence[AnyCall]) -> AnyCall | None:
        """Return the call that ends the run: the last one in message order."""
        names = self.plan.direct
        if not names:
            return None
        profile = self.machine.profile
        if profile.return_directly == "three_valued":
            # A tool that is unknown for this iteration has no flag either.
            runs = [run for run in runs if run.__class__ is ToolCallRun]
        direct = [run for run in runs if run.call.name in names]
        if profile.direct_calls == "all" and len(direct) < len(runs):
            return None
        return direct[-1] if direct else None

    def settle(self, batch: CallBatch) -> bool:
        """Keep the results of a batch; tell whether one of them is the answer."""
        self.batch = None
        self.events.extend(batch.snapshots())
        self._tell_ignored(batch)
        error = batch.error()
        if error is not None:
            raise error
        for run in batch.calls:
            self.history = self.history.appended(run.message())
        direct = self.direct_call(batch.calls)
        if direct is not None:
            at_end = self.machine.profile.answer == "end_of_history"
            self.answer = self.history.last() if at_end else direct.message()
        return direct is not None

    def _tell_ignored(self, batch: CallBatch) -> None:
        if self.machine.on_notice is None:
            return
        for run in batch.calls:
            if isinstance(run, ToolCallRun) and run.changed is not None:
                name, call_id = run.changed
                data: Mapping[str, Json] = {"name": name, "call_id": call_id}
                self.machine.on_notice(Notice("ignored_change", data, run.call.id))

    async def interrupted(self, error: BaseException) -> AgentEvent:
        """End the run with what it asks; return the event that tells the consumer.

        Raises the error if there is no interrupt in it.
        """
        stop = interrupt_in(error)
        if stop is None:
            raise error
        await self.leave()
        self.live = self.batch = None
        self.status = "interrupted"
        if not self.interrupts:
            hook, owner = stop.where or ("run", self.machine.name)
            address = Address(self.run_path, self.iterations, hook, owner)
            self.interrupts = (Pending(address, stop.payload),)
        path = self.run_path
        return self.tell(AgentEvent("interrupt", path, interrupts=self.interrupts))

    def tell(self, event: AgentEvent) -> AgentEvent:
        """Keep an event for the result, and return it."""
        self.events.append(event)
        return event

    async def leave(self) -> None:
        """Leave nothing open or running, also if the consumer went away."""
        live, batch = self.live, self.batch
        if self.attempts is not None:
            self.attempts.leave()
        if live is None and batch is None:
            return
        try:
            if live is not None:
                await live.close()
            elif batch is not None:
                await batch.leave()
        finally:
            if live is not None:
                self._tell_answer(live, self._read_already(live))
            if batch is not None:
                self.events.extend(batch.snapshots())

    def _read_already(self, live: SharedStream[MessageChunk]) -> Message | None:
        """Return and keep an answer that was read to its end, if it was."""
        if not live.whole:
            return None
        try:
            message = join_chunks(live.chunks)
        except Exception:  # noqa: BLE001  # chunks that make no message are not an answer
            return None
        self.taken(self.in_time(message))
        return message

    def left_whole(self) -> History:
        """Return the history of a run that was left, with a result for each call."""
        if self.batch is not None:
            return with_results(self.history, self.batch.results())
        return answered(self.history) if self.owed else self.history
