"""The loop: model, route, tools, until an answer (contract §2).

    before_model → model onion → after_model → route → tool onions → again
                                                  └→ after_agent, if it succeeded

One ``Loop`` is one run. It is an async generator that the consumer pulls, so nothing
runs ahead of who reads the events, and no task is needed for a run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias, TypeVar, cast

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
from refengine.model_calls import Attempts, ModelCall, ModelRetry, raise_as, until
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
from refengine.struct_middleware import LegacyPass, StateCell
from refengine.tool_calls import (
    AbsentCall,
    AbsentTool,
    AnyCall,
    CallBatch,
    ToolCallRun,
    UnknownCall,
    absent_text,
)
from refengine.tool_onion import BoundTool
from refengine.tools import NO_OPTIONS, Options, ToolMeta

T = TypeVar("T")
Ask: TypeAlias = Callable[[Context], Awaitable[T | None]]
"""A call of the model: what came of it, None if the model is to be asked again."""
Status: TypeAlias = Literal[
    "completed",
    "returned_directly",
    "max_iterations",
    "interrupted",
    "error",
    "cancelled",
]

_SUCCESS: Final = frozenset(("completed", "returned_directly"))
BEFORE, MODEL, AFTER, TOOLS, AFTER_AGENT, END = range(1, 7)
"""The parts of an iteration in order, and what comes after the last one."""
APOLOGY: Final = "There was no iteration left to run these calls."
"""What the answer is where calls come too late (posture ``exhaustion``)."""


class RunKeeper(Protocol):
    """Keeps one run; a run asks it where it stands and tells it what became of it.

    A run that is not kept has none. Each method may raise NotKeepableError; those that
    are awaited write a step, and raise what the store raises.
    """

    async def begin(self) -> int:
        """Begin or go on; return the part of the iteration that comes first, or 0."""
        ...

    def context(self) -> Context:
        """Return the context of the iteration in which the run goes on."""
        ...

    def response(self) -> Message:
        """Return the response of the iteration in which the run goes on."""
        ...

    def iteration_begins(self) -> None:
        """Know that one iteration more was counted."""
        ...

    async def run_phases(
        self, phases: Sequence[LegacyPass | Pipeline], ctx: Context
    ) -> Context:
        """Run the hooks of a pass; return the context that they leave."""
        ...

    def first_attempt(self) -> int:
        """Return the attempt at the model that the iteration begins with."""
        ...

    def asking(self, ask: Ask[T]) -> Ask[T]:
        """Return a call of the model that is kept where it is interrupted."""
        ...

    def answered(self, answer: Message, response: Message) -> None:
        """Look at what the model gave, and know what the run goes on with."""
        ...

    def shown_before(self) -> frozenset[str] | None:
        """Return the tools that the model was told before the run was kept, if any."""
        ...

    def go_on_with(self, batch: CallBatch) -> None:
        """Give the calls of a message their records, and what was kept of them."""
        ...

    async def calls_begin(self, response: Message, ctx: Context) -> None:
        """Keep that the model has called tools."""
        ...

    async def calls_ended(
        self, batch: CallBatch, response: Message, ctx: Context
    ) -> None:
        """Keep where calls asked, or failed; raises Interrupt if one asks."""
        ...

    async def settled(self) -> None:
        """Keep the results of the calls."""
        ...

    async def after_agent(self) -> None:
        """Run the hooks after a run that succeeded."""
        ...

    async def end(self) -> None:
        """Keep what the run ended with."""
        ...


class Loop:
    """The state of one run."""

    __slots__ = (
        "_follows",
        "_owed",
        "_single_call",
        "answer",
        "attempts",
        "batch",
        "bound",
        "cell",
        "ctx",
        "events",
        "first",
        "history",
        "interrupts",
        "iterations",
        "keeper",
        "live",
        "locals",
        "machine",
        "model_call",
        "options",
        "plan",
        "run_path",
        "sends_history",
        "status",
        "streaming",
        "system",
        "this_call",
        "watch",
    )
    watch: CancellationWatch
    """Set by whoever runs it: knows whether the run was cancelled."""

    def __init__(
        self,
        machine: CompiledAgent,
        plan: Plan,
        ctx: Context,
        messages: Sequence[Message],
        streaming: bool,
        options: Options = NO_OPTIONS,
    ) -> None:
        self._owed = False
        self.keeper: RunKeeper | None = None
        self.interrupts: tuple[Pending, ...] = ()
        self.machine = machine
        self.plan = plan
        self.streaming = streaming
        self.options = options
        self.locals: RunLocals = {}
        self.run_path = (*ctx.run_path, machine.name)
        self.ctx = at_point(ctx, self.run_path, None, self.locals)
        self.bound: Mapping[str, BoundTool] = {}
        self._single_call = plan.without_tools and machine.calls_once
        self.model_call: ModelCall | None = None
        self.attempts: Attempts | None = None
        self.live: SharedStream[MessageChunk] | None = None
        self.batch: CallBatch | None = None
        self.sends_history = machine.sends_history
        self._follows = machine.profile.changed_call_id == "taken_over"
        self.system: Message | None = None
        self.this_call: History | None = None
        self.history = History(messages)
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
        self.iterations = 0
        self.events: list[AgentEvent] = []

    async def run(  # noqa: C901, PLR0912, PLR0915  # the order of a run, in one place
        self,
    ) -> AsyncGenerator[AgentEvent, None]:
        """Yield the events of the run; raises what ends it with an error.

        ``skip`` is 0 but in a run that goes on from where it was kept: then it is the
        part of the iteration that comes first. What needs no waiting is not awaited:
        a coroutine for each part made a run without handlers a tenth slower.
        """
        machine, keeper, watch = self.machine, self.keeper, self.watch
        ask: Ask[Message] = self.ask_model
        open_answer: Ask[AgentEvent] = self.open_answer
        try:
            skip = self.start()
            if keeper is not None:
                # Of an iteration that goes on where it was.
                self.cell = StateCell(without_tools=self.plan.without_tools)
                ask, open_answer = keeper.asking(ask), keeper.asking(open_answer)
                skip = await keeper.begin()
            while self.status == "error" and (skip or self.next_iteration()):
                ctx = self.ctx
                if keeper is not None and skip > BEFORE:
                    ctx = keeper.context()
                elif machine.before:
                    ctx = await self.before_model()
                if keeper is not None and skip > MODEL:
                    response = keeper.response()
                elif self.streaming:
                    answer = None
                    while answer is None:
                        opened = await open_answer(ctx)
                        yield opened or await self.open_again(open_answer, ctx)
                        answer = await self._drained()
                    response = self._taken(self._accepted(answer))
                    await self._come_out()
                else:
                    answer = await ask(ctx) or await self.ask_again(ask, ctx)
                    response = self._accepted(answer)
                    self.history = self.history.appended(response)
                    self._owed, self.attempts = True, None
                    yield self._tell(AgentEvent("model", self.run_path, response))
                if machine.after and skip <= AFTER:
                    ctx = await self.after_model(ctx)
                calls = self.route(response)
                self._owed = not calls and calls is not None
                if calls:
                    ctx = self._tools_context(ctx)
                    self.batch = batch = self.batch_of(calls, ctx)
                    if keeper is not None and skip < TOOLS:
                        await keeper.calls_begin(response, ctx)
                    while (event := await batch.next_event()) is not None:
                        yield event
                    if keeper is not None:
                        await keeper.calls_ended(batch, response, ctx)
                    if (
                        batch.interrupted
                        or keeper is not None
                        or watch.count() > watch.had
                    ):
                        await self._end_calls(batch)
                    elif self.settle(batch):
                        self.status = "returned_directly"
                elif calls is not None:
                    self.status = "completed"
                skip = 0
            if keeper is not None or machine.after_agent:
                await self._end()
        except (Interrupt, BaseExceptionGroup) as error:
            stop = interrupt_in(error)
            if stop is None:
                raise
            yield await self._interrupted(stop)
        finally:
            await self.leave()

    def start(self) -> int:
        """Start the run: bind its tools; return the part that comes first."""
        if not self._single_call:
            self.bound = self.machine.binder.for_run(self.plan)
        return 0

    async def after_model(self, ctx: Context) -> Context:
        """Run the after-model phases; return the context of the tools."""
        ctx = await self.run_phases(self.machine.after, ctx)
        await self._come_out()
        return ctx

    async def _end_calls(self, batch: CallBatch) -> None:
        """Keep the results; raises the first error, or Interrupt if a call asks."""
        await self._come_out()
        if batch.interrupted and batch.error() is None:
            self.interrupts = batch.pending(self.run_path, self.iterations)
            raise Interrupt
        if self.settle(batch):
            self.status = "returned_directly"
        elif self.keeper is not None:
            await self.keeper.settled()

    async def _end(self) -> None:
        keeper = self.keeper
        if self.status in _SUCCESS and self.machine.after_agent:
            if keeper is None:
                await self.machine.after_agent.observe(self.ctx, self.history)
            else:
                await keeper.after_agent()
            await self._come_out()
        if keeper is not None:
            await keeper.end()

    async def _come_out(self) -> None:
        """Raise the CancelledError that a hook or a wrapper of a stream swallowed."""
        if self.watch.cancelled:
            await self.watch.come_out()

    def next_iteration(self) -> bool:
        """Count one more, checked before its first hook; False if none is left."""
        machine = self.machine
        limit = machine.max_iterations
        if self.iterations < limit:
            self.iterations += 1
            if machine.before or machine.after:
                self.cell = StateCell(without_tools=self.plan.without_tools)
            if self.keeper is not None:
                self.keeper.iteration_begins()
            return True
        if machine.profile.exhaustion != "outcome":
            raise MaxIterationsExceededError(limit)
        self.status = "max_iterations"
        self.answer = last_assistant(self.history)
        return False

    async def before_model(self) -> Context:
        """Run the before-model phases; return the context the model is called with."""
        profile, kept = self.machine.profile, self.history
        ctx = await self.run_phases(self.machine.before, self.ctx)
        await self._come_out()
        if profile.before_model_edits == "this_call":
            self.this_call, self.history = self.history or None, kept
        return self.ctx if profile.model_context == "before_hooks" else ctx

    def _tools_context(self, ctx: Context) -> Context:
        """Return the context of the tools, given that of the after-hooks."""
        reaches = self.machine.profile.model_context
        return ctx if reaches == "iteration" else self.ctx

    async def run_phases(
        self, phases: Sequence[LegacyPass | Pipeline], ctx: Context
    ) -> Context:
        """Run the hooks of a pass; return the context that they leave."""
        if self.keeper is not None:
            return await self.keeper.run_phases(phases, ctx)
        messages: Sequence[Message] = self.history
        for phase in phases:
            if isinstance(phase, Pipeline):
                ctx, messages = await phase.rewrite(ctx, messages)
            else:
                messages = await phase.rewrite(ctx, messages, self.cell)
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

    def _accepted(self, answer: Message) -> Message:
        """Return the response that the run goes on with."""
        response = self._in_time(answer)
        if self.keeper is not None:
            self.keeper.answered(answer, response)
        return response

    def _in_time(self, response: Message) -> Message:
        """Return the response, or an apology for calls that come too late to run."""
        if not self.machine.apologises or not response.tool_calls:
            return response
        late = self.iterations == self.machine.max_iterations
        return Message("assistant", APOLOGY) if late else response

    def _taken(self, response: Message) -> Message:
        """Put the response into the history; until its calls begin they are owed."""
        self.history = self.history.appended(response)
        self._owed = True
        self.attempts = None
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

    async def _drained(self) -> Message | None:
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

    async def ask_again(self, ask: Ask[Message], ctx: Context) -> Message:
        """Return the answer of a later attempt; raises what ends them."""
        return await until(ask, ctx)

    async def open_again(self, ask: Ask[AgentEvent], ctx: Context) -> AgentEvent:
        """Return the event of a later attempt; raises what ends them."""
        return await until(ask, ctx)

    def _begin_asking(self, retry: ModelRetry) -> Attempts:
        """Begin the attempts of this iteration."""
        at = self.run_path, self.locals
        number = 1 if self.keeper is None else self.keeper.first_attempt()
        return Attempts(self.machine.model, self._request(), at, retry, number)

    def _tell_answer(
        self, live: SharedStream[MessageChunk], message: Message | None
    ) -> None:
        chunks = tuple(live.chunks)
        self._tell(AgentEvent("model", self.run_path, message, chunks=chunks))

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
                machine.profile, response, self.history, hooked=bool(machine.after)
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
        runs = [self.prepare_call(call, bound) for call in calls]
        direct = self.direct_call(runs)
        one_by_one = self.machine.tools_config.sequential
        held = direct if profile.direct_event == "last" else None
        batch = CallBatch(
            runs,
            ctx,
            (self.streaming, one_by_one),
            held=held if isinstance(held, ToolCallRun) else None,
            profile=profile,
        )
        if self.keeper is not None:
            self.keeper.go_on_with(batch)
        if len(batch.runs) < len(runs):
            batch.ask_handler()
        return batch

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
        return CallScope(
            self.run_path, self.locals, tool, call_id, self._follows, again
        )

    def _is_hidden(self, name: str) -> bool:
        """Tell whether a wrapper took the tool out of the last request."""
        call, machine = self.model_call, self.machine
        if not machine.model or machine.profile.hidden_tool == "runs":
            return False
        before = None if self.keeper is None else self.keeper.shown_before()
        if before is not None:
            return name not in before
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

    async def _interrupted(self, stop: Interrupt) -> AgentEvent:
        """End the run with what it asks; return the event that tells the consumer."""
        await self.leave()
        self.live = self.batch = None
        self.status = "interrupted"
        if not self.interrupts:
            hook, owner = stop.where or ("run", self.machine.name)
            address = Address(self.run_path, self.iterations, hook, owner)
            self.interrupts = (Pending(address, stop.payload),)
        path = self.run_path
        return self._tell(AgentEvent("interrupt", path, interrupts=self.interrupts))

    def _tell(self, event: AgentEvent) -> AgentEvent:
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
        self._taken(self._in_time(message))
        return message

    def left_whole(self) -> History:
        """Return the history of a run that was left, with a result for each call."""
        if self.batch is not None:
            return with_results(self.history, self.batch.results())
        return answered(self.history) if self._owed else self.history
