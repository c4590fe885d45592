"""A Flow world: what surrounds an engine, made of a scenario, and the observer of it.

It supplies models, tools, callbacks and plugins as plain objects in the values of the
dialect, which a door wires to its engine. Hooks have the signatures that the dialect
gives them (``compat.dialects.flow.hooks``), and each of them is a coroutine function.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from compat.dialects.flow.content import Content, Part
from compat.dialects.flow.model import LlmRequest, LlmResponse
from compat.engines.flow.observing import FlowNotes, ScriptedFlowError, seen
from compat.engines.flow.operations import FlowContext, Performance, perform
from compat.engines.flow.scenario import (
    Callback,
    FlowAgentSpec,
    FlowAnswerSpec,
    FlowOutcomeSpec,
    FlowReplySpec,
    FlowScenario,
    FlowToolSpec,
    said_of,
)

Aggregate: TypeAlias = Callable[
    [AsyncIterator["LlmResponse | None"]], AsyncIterator[LlmResponse]
]
"""Makes an engine's responses of a vendor's chunks; None is one of no candidate."""
FlowHook: TypeAlias = Callable[..., Awaitable[Any]]

AT_ITS_END: Final = "the script of {agent} is at its end"
"""What a model says that is asked more often than its script foresees."""

PROCESSOR: Final = "request_processor"
"""What a request processor of a user's own is called where hooks are observed."""
SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        PROCESSOR: ("request",),
        "on_user_message": ("content",),
        "before_run": (),
        "on_event": ("event",),
        "after_run": (),
        "before_agent": (),
        "after_agent": (),
        "before_model": ("request",),
        "after_model": ("response",),
        "on_model_error": ("request", "error"),
        "before_tool": ("tool", "args"),
        "after_tool": ("tool", "args", "result", "error"),
        "on_tool_error": ("tool", "args", "error"),
    }
)
"""What each hook is given behind its context, by name."""


@dataclass(frozen=True, slots=True)
class WorldModel:
    """The model of one agent: it answers as its script says, and is observed."""

    agent: FlowAgentSpec
    notes: FlowNotes

    @property
    def name(self) -> str:
        """The vendor's name of it."""
        return self.agent.model

    async def generate(
        self, request: LlmRequest, *, stream: bool, aggregate: Aggregate
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request; raises ScriptedFlowError where the script says so."""
        name, add = self.agent.name, self.notes.recorder.add
        number = self.notes.nth("model", name)
        asked = {"agent": name, "number": number, "stream": stream}
        add("model_request", {**asked, "request": seen(request)})
        answer = self._answer(number)
        if stream and answer.chunks:
            async for response in aggregate(self._chunks(answer.chunks)):
                yield response
        else:
            for response in _whole(answer):
                self._tell("model_response", response)
                yield response
        if answer.error is not None:
            error = ScriptedFlowError(answer.error, f"model of {name}")
            add("model_error", {**asked, "error": seen(error)})
            raise error

    def _answer(self, number: int) -> FlowAnswerSpec:
        script = self.agent.script
        if number <= len(script):
            return script[number - 1]
        return FlowAnswerSpec(text=AT_ITS_END.format(agent=self.agent.name))

    async def _chunks(
        self, chunks: Sequence[FlowReplySpec | None]
    ) -> AsyncGenerator[LlmResponse | None, None]:
        for each in chunks:
            response = None if each is None else each.response()
            self._tell("model_chunk", response)
            yield response

    def _tell(
        self,
        kind: Literal["model_response", "model_chunk"],
        response: LlmResponse | None,
    ) -> None:
        data = {"agent": self.agent.name, "response": seen(response)}
        self.notes.recorder.add(kind, data)


def _whole(answer: FlowAnswerSpec) -> Sequence[LlmResponse]:
    """Return what a model gives where nothing is aggregated."""
    if answer.responses:
        return [each.response() for each in answer.responses]
    if not answer.chunks:
        only_fails = said_of(answer) == {"error"}
        return () if only_fails else (answer.response(),)
    said = [each.response() for each in answer.chunks if each is not None]
    if not said:
        return (LlmResponse(),)
    parts = [x for each in said if each.content for x in each.content.parts]
    content = Content("model", _joined(parts)) if parts else None
    return (replace(said[-1], content=content, partial=False),)


def _joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts of all chunks; texts of one kind in a row are one."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last and part.text and last.text and part.thought == last.thought:
            joined[-1] = replace(last, text=last.text + part.text)
        else:
            joined.append(part)
    return tuple(joined)


@dataclass(frozen=True, slots=True)
class FlowWorldTool:
    """A tool that gives what its outcomes say, and tells that it ran."""

    spec: FlowToolSpec
    notes: FlowNotes

    async def run(self, ctx: FlowContext, args: dict[str, Any]) -> Any:  # noqa: ANN401  # any JSON value
        """Run one call of it; raises ScriptedFlowError where it is told to."""
        name, add = self.spec.name, self.notes.recorder.add
        number = self.notes.nth("tool", name)
        ran = {"tool": name, "agent": ctx.agent_name, "number": number}
        add("tool_start", {**ran, "args": seen(args)}, ctx.call_id)
        if self.spec.delay_ms:
            await asyncio.sleep(self.spec.delay_ms / 1000)
        try:
            result = await self._result(ctx, args, number)
        except ScriptedFlowError as error:
            add("tool_error", {**ran, "error": seen(error)}, ctx.call_id)
            raise
        add("tool_end", {**ran, "result": seen(result)}, ctx.call_id)
        return result

    async def _result(self, ctx: FlowContext, args: dict[str, Any], number: int) -> Any:  # noqa: ANN401  # any JSON value
        point, given = f"tool {self.spec.name}", {"args": args}
        call = Performance(point, "tool", ctx, given, number, self.notes)
        early = await perform(self.spec.do, call)
        if early is not None:
            return early
        outcome = self._outcome(number)
        if outcome.error is not None:
            raise ScriptedFlowError(outcome.error, point)
        return outcome.model_copy(deep=True).result

    def _outcome(self, number: int) -> FlowOutcomeSpec:
        outcomes = self.spec.outcomes or (FlowOutcomeSpec(result={"ok": True}),)
        return outcomes[min(number, len(outcomes)) - 1]


@dataclass(frozen=True, slots=True)
class WorldPlugin:
    """A plugin: its name, and a coroutine function for each hook that it has."""

    name: str
    hooks: Mapping[str, FlowHook]


@dataclass(frozen=True, slots=True)
class FlowWorld:
    """What a door wires to its engine: all that a scenario names, and who observes it.

    ``new_id`` and ``clock`` are for engines that take such: ids are counted, and time
    goes on by a second each time that it is asked for.
    """

    scenario: FlowScenario
    notes: FlowNotes = field(default_factory=FlowNotes)
    _ids: count[int] = field(default_factory=lambda: count(1))
    _ticks: count[int] = field(default_factory=lambda: count(1))

    def new_id(self) -> str:
        """Return an id that no other thing has."""
        return f"id{next(self._ids)}"

    def clock(self) -> float:
        """Return a time that is later than the last one, in seconds."""
        return float(next(self._ticks))

    def model(self, agent: FlowAgentSpec) -> WorldModel:
        """Return the model of an agent."""
        return WorldModel(agent, self.notes)

    def tools(self, agent: FlowAgentSpec) -> Sequence[FlowWorldTool]:
        """Return the tools of an agent; the door makes those that are agents."""
        return tuple(FlowWorldTool(each, self.notes) for each in agent.tools)

    def callbacks(self, agent: FlowAgentSpec, hook: str) -> Sequence[FlowHook]:
        """Return the callbacks of an agent for a hook, in order."""
        given = agent.callbacks.get(hook, ())
        return tuple(
            self._hook(hook, {"callback": at}, f"callback {at} of {agent.name}", each)
            for at, each in enumerate(given)
        )

    def processors(self, agent: FlowAgentSpec) -> Sequence[FlowHook]:
        """Return the request processors of an agent that are its user's own."""
        return tuple(
            self._hook(
                PROCESSOR, {"callback": at}, f"processor {at} of {agent.name}", each.do
            )
            for at, each in enumerate(agent.processors)
        )

    def plugins(self) -> Sequence[WorldPlugin]:
        """Return the plugins, in order."""
        return tuple(
            WorldPlugin(
                each.name,
                {
                    hook: self._hook(
                        hook, {"plugin": each.name}, f"plugin {each.name}", todo
                    )
                    for hook, todo in each.hooks.items()
                },
            )
            for each in self.scenario.plugins
        )

    def _hook(
        self, hook: str, owner: Mapping[str, Any], named: str, todo: Callback
    ) -> FlowHook:
        subjects = SUBJECTS[hook]

        async def call(ctx: Any, *args: Any) -> Any:  # noqa: ANN401  # as the hook has it
            given = dict(zip(subjects, args, strict=True))
            number = self.notes.nth(hook, named)
            done = Performance(f"{named}, {hook}", hook, ctx, given, number, self.notes)
            return await self._observed(done, owner, todo)

        return call

    async def _observed(
        self, call: Performance, owner: Mapping[str, Any], todo: Callback
    ) -> Any:  # noqa: ANN401  # what the hook gives
        add = self.notes.recorder.add
        who = {"hook": call.hook, "agent": _agent_of(call), **owner}
        add("hook_enter", {**who, "given": _shown(call)}, call.call_id)
        try:
            value = await perform(todo, call)
        except ScriptedFlowError as error:
            add("hook_exit", {**who, "error": seen(error)}, call.call_id)
            raise
        add("hook_exit", {**who, "value": seen(value)}, call.call_id)
        return value


def _agent_of(call: Performance) -> str:
    """Return the agent that a hook is called for; "" of the hooks of a whole run."""
    event = call.given.get("event")
    if event is not None:
        return str(event.author)
    return str(getattr(call.ctx, "agent_name", ""))


def _shown(call: Performance) -> dict[str, Any]:
    """Return what a hook is given, as observations have it: of a tool, its name."""
    return {
        name: each.name if name == "tool" else seen(each)
        for name, each in call.given.items()
        if each is not None
    }
