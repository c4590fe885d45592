"""The loop: model, route, tools, until an answer (contract §2).

    before_model → model onion → after_model → route → tool onions → again
                                                  └→ after_agent, if it succeeded

One ``Loop`` is one run. It is an async generator that the consumer pulls, so nothing
runs ahead of who reads the events, and no task is needed for a run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from refengine.batch import AnyCall, CallBatch, UnknownCall
from refengine.binding import Binder
from refengine.call import AbsentCall, AbsentTool, ToolCallRun
from refengine.chain import Pipeline
from refengine.context import Context, RunLocals
from refengine.errors import (
    MaxIterationsExceededError,
    ToolNotFound,
)
from refengine.events import AgentEvent, Chunk, Notice
from refengine.history import History, as_history
from refengine.legacy import LegacyPass, StateCell
from refengine.live import LiveStream
from refengine.messages import Json, Message, MessageChunk, ToolCall, join_chunks
from refengine.model import ModelRequest
from refengine.model_onion import ModelCall, ModelOnion, raise_as
from refengine.plan import OnNotice, Plan
from refengine.profile import Profile
from refengine.routing import (
    BY_RESULTS,
    answer_of,
    last_assistant,
    next_calls,
    refuse_unanswered,
)
from refengine.scope import Scope
from refengine.stream import StreamReader
from refengine.tools import NO_OPTIONS, Options, ToolMeta, ToolsConfig
from refengine.toolset import BoundTool

Status: TypeAlias = Literal[
    "completed",
    "returned_directly",
    "max_iterations",
    "interrupted",
    "error",
    "cancelled",
]

_SUCCESS: Final = frozenset(("completed", "returned_directly"))
APOLOGY: Final = "There was no iteration left to run these calls."
"""What the answer is where calls come too late (posture ``exhaustion``)."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The compiled parts of one agent; the same for all its runs."""

    name: str
    profile: Profile
    max_iterations: int
    tools_config: ToolsConfig
    before: tuple[LegacyPass | Pipeline, ...]
    after: tuple[LegacyPass | Pipeline, ...]
    after_agent: Pipeline
    model: ModelOnion
    binder: Binder
    on_notice: OnNotice | None

    @property
    def calls_once(self) -> bool:
        """Whether an agent without tools calls the model once and ends."""
        rule, binder = self.profile.without_tools, self.binder
        wrapped = binder.invokable.names or binder.streamable.names
        return rule == "single_call" or (rule == "loop_if_wrapped" and not wrapped)

    @property
    def sends_history(self) -> bool:
        """Whether the model is sent the history just as it is kept."""
        profile = self.profile
        return (
            profile.instruction_place == "in_history"
            and profile.before_model_edits == "kept"
            and profile.unanswered_calls == "sent"
        )


class Loop:
    """The state of one run."""

    __slots__ = (
        "_apologises",
        "_batch",
        "_bound",
        "_cell",
        "_ctx",
        "_follows",
        "_live",
        "_locals",
        "_machine",
        "_model_call",
        "_options",
        "_plan",
        "_run_path",
        "_sends_history",
        "_single_call",
        "_streaming",
        "_system",
        "_this_call",
        "answer",
        "events",
        "first",
        "history",
        "iterations",
        "status",
    )

    def __init__(
        self,
        machine: Machine,
        plan: Plan,
        ctx: Context,
        messages: Sequence[Message],
        streaming: bool,
        options: Options = NO_OPTIONS,
    ) -> None:
        self._machine = machine
        self._plan = plan
        self._streaming = streaming
        self._options = options
        self._locals: RunLocals = {}
        self._run_path = (*ctx.run_path, machine.name)
        place = ctx._placed  # noqa: SLF001  # the engine places contexts
        self._ctx = place(self._run_path, None, self._locals)
        self._bound: Mapping[str, BoundTool] = {}
        self._cell = StateCell()
        self._single_call = plan.without_tools and machine.calls_once
        self._model_call: ModelCall | None = None
        self._live: LiveStream[MessageChunk] | None = None
        self._batch: CallBatch | None = None
        self._sends_history = machine.sends_history
        self._follows = machine.profile.changed_call_id == "taken_over"
        self._apologises = machine.profile.exhaustion == "apology" and not machine.after
        self._system: Message | None = None
        self._this_call: History | None = None
        self.history = History(messages)
        self.first: Message | None = None
        if plan.instruction:
            system = Message("system", plan.instruction)
            if machine.profile.instruction_place == "in_history":
                self.first = system
                self.history = self.history.after(system)
            else:
                self._system = system
        self.status: Status = "error"
        self.answer: Message | None = None
        self.iterations = 0
        self.events: list[AgentEvent] = []

    async def run(self) -> AsyncGenerator[AgentEvent, None]:
        """Yield the events of the run; raises what ends it with an error."""
        machine = self._machine
        try:
            if not self._single_call:
                self._bound = machine.binder.for_run(self._plan)
            while self._next_iteration():
                model_ctx = await self._before_model() if machine.before else self._ctx
                if self._streaming:
                    yield await self._open_answer(model_ctx)
                    response = self._in_time(await self._drained())
                else:
                    response = self._in_time(await self._answer(model_ctx))
                    yield self._tell(AgentEvent("model", self._run_path, response))
                self.history = self.history.appended(response)
                ctx = model_ctx
                if machine.after:
                    ctx = await self._phases(machine.after, model_ctx)
                calls = self._route(response)
                if calls is None:
                    continue
                if not calls:
                    self.status = "completed"
                    break
                self._batch = batch = self._batch_of(calls, self._tools_context(ctx))
                while (event := await batch.next_event()) is not None:
                    yield event
                if self._settle(batch):
                    self.status = "returned_directly"
                    break
            if self.status in _SUCCESS and machine.after_agent:
                await machine.after_agent.observe(self._ctx, self.history)
        finally:
            await self._leave()

    def _next_iteration(self) -> bool:
        """Count one more, checked before its first hook; False if none is left."""
        machine = self._machine
        limit = machine.max_iterations
        if self.iterations < limit:
            self.iterations += 1
            if machine.before or machine.after:
                self._cell = StateCell()
            return True
        if machine.profile.exhaustion != "outcome":
            raise MaxIterationsExceededError(limit)
        self.status = "max_iterations"
        self.answer = last_assistant(self.history)
        return False

    async def _before_model(self) -> Context:
        """Run the before-model phases; return the context the model is called with."""
        profile, kept = self._machine.profile, self.history
        ctx = await self._phases(self._machine.before, self._ctx)
        if profile.before_model_edits == "this_call":
            self._this_call, self.history = self.history or None, kept
        return self._ctx if profile.model_context == "before_hooks" else ctx

    def _tools_context(self, ctx: Context) -> Context:
        """Return the context of the tools, given that of the after-hooks."""
        reaches = self._machine.profile.model_context
        return ctx if reaches == "iteration" else self._ctx

    async def _phases(
        self, phases: Sequence[LegacyPass | Pipeline], ctx: Context
    ) -> Context:
        messages: Sequence[Message] = self.history
        for phase in phases:
            if isinstance(phase, Pipeline):
                ctx, messages = await phase.rewrite(ctx, messages)
            else:
                messages = await phase.rewrite(ctx, messages, self._cell)
        self.history = as_history(messages)
        return ctx._placed(self._run_path, None, self._locals)  # noqa: SLF001  # engine

    def _sent(self) -> History:
        """Return what the model is sent, where that is not just the history.

        Raises UnansweredCallsError.
        """
        sent = self.history if self._this_call is None else self._this_call
        if self._machine.profile.unanswered_calls == "refused":
            refuse_unanswered(sent)
        return sent if self._system is None else sent.after(self._system)

    def _in_time(self, response: Message) -> Message:
        """Return the response, or an apology for calls that come too late to run."""
        if not self._apologises or not response.tool_calls:
            return response
        late = self.iterations == self._machine.max_iterations
        return Message("assistant", APOLOGY) if late else response

    async def _answer(self, ctx: Context) -> Message:
        onion = self._machine.model
        if not onion:
            sent = self.history if self._sends_history else self._sent()
            return await onion.bare(ctx, sent, self._plan.shown, self._options)
        self._model_call = call = self._call_model()
        return await call.invoke(ctx)

    async def _open_answer(self, ctx: Context) -> AgentEvent:
        self._model_call = call = self._call_model()
        self._live = live = await call.stream(ctx)
        stream = cast("StreamReader[Chunk]", live.reader())
        return AgentEvent("model", self._run_path, stream=stream)

    async def _drained(self) -> Message:
        """Read the rest of the answer; what came of it is told in either case."""
        live, call = self._live, self._model_call
        if live is None or call is None:
            raise AssertionError
        try:
            message = join_chunks(await live.drain())
        except Exception as error:  # noqa: BLE001  # raise_as raises it
            self._live = None
            self._tell_answer(live, None)
            raise_as(error, call.leaving(error))
        self._live = None
        self._tell_answer(live, message)
        return message

    def _tell_answer(
        self, live: LiveStream[MessageChunk], message: Message | None
    ) -> None:
        chunks = tuple(live.chunks)
        self._tell(AgentEvent("model", self._run_path, message, chunks=chunks))

    def _call_model(self) -> ModelCall:
        sent = self.history if self._sends_history else self._sent()
        request = ModelRequest(sent, self._plan.shown, self._options, self._streaming)
        return ModelCall(self._machine.model, request, self._run_path, self._locals)

    def _route(self, response: Message) -> tuple[ToolCall, ...] | None:
        """Return the calls to run next, none if the run completes (contract MSG).

        None comes back if the model is asked again at once.
        """
        machine = self._machine
        calls: tuple[ToolCall, ...] | None = ()
        if not self._single_call or machine.profile.route not in BY_RESULTS:
            calls = next_calls(
                machine.profile, response, self.history, hooked=bool(machine.after)
            )
        if self._single_call or not calls:
            if calls is None and not self._single_call:
                return None
            self.answer = answer_of(machine.profile, response, self.history)
            return ()
        return calls

    def _batch_of(self, calls: Sequence[ToolCall], ctx: Context) -> CallBatch:
        profile = self._machine.profile
        bound = self._machine.binder.for_message(self._plan, self._bound)
        runs = [self._run_of(call, bound) for call in calls]
        direct = self._direct(runs)
        one_by_one = self._machine.tools_config.sequential
        held = direct if profile.direct_event == "last" else None
        return CallBatch(
            runs,
            ctx,
            (self._streaming, one_by_one),
            held=held if isinstance(held, ToolCallRun) else None,
            profile=profile,
        )

    def _run_of(self, call: ToolCall, bound: Mapping[str, BoundTool]) -> AnyCall:
        """Return the call, ready to run; raises ToolNotFound before any runs."""
        tool = bound.get(call.name)
        if tool is not None and not self._is_hidden(call.name):
            scope = Scope(self._run_path, self._locals, tool, call.id, self._follows)
            return ToolCallRun(call, tool, scope, self._options)
        answer = self._machine.tools_config.unknown_tools_handler
        if answer is not None:
            return UnknownCall(call, answer)
        available = [name for name in bound if not self._is_hidden(name)]
        if self._machine.profile.unknown_tool == "abort":
            raise ToolNotFound(call.name, available)
        tool = self._machine.binder.bound(ToolMeta(AbsentTool(call.name, available)))
        scope = Scope(self._run_path, self._locals, tool, call.id, self._follows)
        return AbsentCall(call, tool, scope, self._options)

    def _is_hidden(self, name: str) -> bool:
        """Tell whether a wrapper took the tool out of the last request."""
        if not self._machine.model or self._machine.profile.hidden_tool == "runs":
            return False
        call = self._model_call
        return call is not None and all(info.name != name for info in call.shown)

    def _direct(self, runs: Sequence[AnyCall]) -> AnyCall | None:
        """Return the call that ends the run: the last one in message order."""
        names = self._plan.direct
        if not names:
            return None
        profile = self._machine.profile
        if profile.return_directly == "three_valued":
            # A tool that is unknown for this iteration has no flag either.
            runs = [run for run in runs if run.__class__ is ToolCallRun]
        direct = [run for run in runs if run.call.name in names]
        if profile.direct_calls == "all" and len(direct) < len(runs):
            return None
        return direct[-1] if direct else None

    def _settle(self, batch: CallBatch) -> bool:
        """Keep the results of a batch; tell whether one of them is the answer."""
        self._batch = None
        self.events.extend(batch.snapshots())
        self._tell_ignored(batch)
        error = batch.error()
        if error is not None:
            raise error
        for run in batch.calls:
            self.history = self.history.appended(run.message())
        direct = self._direct(batch.calls)
        if direct is not None:
            at_end = self._machine.profile.answer == "end_of_history"
            self.answer = self.history.last() if at_end else direct.message()
        return direct is not None

    def _tell_ignored(self, batch: CallBatch) -> None:
        if self._machine.on_notice is None:
            return
        for run in batch.calls:
            if isinstance(run, ToolCallRun) and run.changed is not None:
                name, call_id = run.changed
                data: Mapping[str, Json] = {"name": name, "call_id": call_id}
                self._machine.on_notice(Notice("ignored_change", data, run.call.id))

    def _tell(self, event: AgentEvent) -> AgentEvent:
        self.events.append(event)
        return event

    async def _leave(self) -> None:
        """Leave nothing open or running, also if the consumer went away."""
        if self._live is not None:
            await self._live.close()
            self._tell_answer(self._live, None)
        if self._batch is not None:
            await self._batch.leave()
            self.events.extend(self._batch.snapshots())
