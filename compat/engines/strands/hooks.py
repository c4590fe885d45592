"""Our handlers as plugins of strands: hooks and middleware for just what each has.

A history is rewritten in place, in ``agent.messages``, as the managers of conversations
do that come with the framework. An answer is the result of the stage that asks the
model, whose ``Output`` may replace it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast

from strands import Agent
from strands.hooks import (
    AfterInvocationEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
)
from strands.middleware import (
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelResult,
    InvokeModelStage,
    ModelStopReason,
    ToolResultEvent,
)
from strands.plugins import Plugin

from compat.engines.strands.messages import (
    annotate,
    named_result,
    our_call,
    our_message,
    ours,
    stopped,
    their_call,
    theirs,
)
from compat.engines.strands.values import StrandsDeps, WorldsTool
from refengine.context import Context
from refengine.hooks import AgentConfig
from refengine.messages import Message, ToolCall
from refengine.model import ModelRequest
from refengine.testing.blaming import AsyncHook
from refengine.testing.doors import at_call
from refengine.tools import NO_OPTIONS, ToolCallInput, ToolCallResult, ToolMeta

Events = AsyncIterator[Any]
"""What a stage tells; its result is the last one of its kind."""
Inner = Callable[[Any], Events]
"""The rest of a stage, as middleware around it calls it."""


@dataclass(frozen=True, slots=True)
class _Hook:
    """One hook of a handler, in the agent of a run."""

    call: AsyncHook
    where: str
    deps: StrandsDeps
    shown: AgentConfig
    agent: Agent


class Adding(Plugin):
    """A plugin of that name, which adds to an agent what a function adds."""

    def __init__(self, name: str, add: Callable[[Agent], object]) -> None:
        self._name = name
        self._add = add
        super().__init__()

    @property
    def name(self) -> str:
        """What an agent knows it by; it has one of each."""
        return self._name

    def init_agent(self, agent: Agent) -> None:
        """Add it."""
        self._add(agent)


def of_handler(
    owner: str, found: Mapping[str, AsyncHook], deps: StrandsDeps, shown: AgentConfig
) -> Adding:
    """Return a handler: its hooks, and no other."""

    def add(agent: Agent) -> None:
        for name, call in found.items():
            where = f"{name} of handler {owner!r}"
            put, act = _PLACES[name]
            put(agent, partial(act, _Hook(call, where, deps, shown, agent)))

    return Adding(owner, add)


def of_struct(at: int, tools: list[WorldsTool]) -> Adding:
    """Return a struct middleware: the tools that it brings."""

    def add(agent: Agent) -> None:
        agent.tool_registry.process_tools(tools)

    return Adding(f"middlewares[{at}]", add)


def of_door(
    deps: StrandsDeps, answered: Callable[[Message], Awaitable[None]]
) -> Adding:
    """Return what the door itself hooks in, inside all handlers; it changes nothing."""

    async def tell(made: InvokeModelResult) -> InvokeModelResult:
        await answered(our_message(made.result.message))
        return made

    async def note(context: InvokeModelContext, inner: Inner) -> Events:
        async for event in inner(context):
            if isinstance(event, ModelStopReason):
                annotate(event.message, deps.said)
            yield event

    def add(agent: Agent) -> None:
        _in(InvokeModelStage.Output)(agent, tell)
        _in(InvokeModelStage)(agent, note)

    return Adding("refengine:door", add)


def tools_of(metas: list[ToolMeta], deps: StrandsDeps) -> list[WorldsTool]:
    """Return tools as the framework takes them."""
    return [WorldsTool(each.tool, deps) for each in metas]


async def _before_agent(hook: _Hook, event: BeforeInvocationEvent) -> None:
    """Let the handler edit the agent, which is this run's own."""
    hook.deps.unchanged(await hook.call(Context(), hook.shown), hook.where)
    event.agent.system_prompt = hook.shown.instruction or None
    there = event.agent.tool_registry
    there.registry.clear()
    given: Any = hook.shown.tools  # None, too, is for the framework to refuse
    there.process_tools(given and tools_of(given, hook.deps))
    left = {each.name: each for each in hook.shown.tools}
    hook.shown.tools = [left[name] for name in there.registry]


async def _rewritten(
    hook: _Hook, given: tuple[Message, ...]
) -> tuple[Message, ...] | None:
    """Return the history that a hook leaves; None if it is the same."""
    ctx, left = await hook.call(hook.deps.ctx, given)
    hook.deps.unchanged(ctx, hook.where)
    return None if tuple(left) == given else tuple(left)


async def _before_model(hook: _Hook, event: BeforeModelCallEvent) -> None:
    left = await _rewritten(hook, ours(event.agent.messages))
    if left is not None:
        event.agent.messages[:] = theirs(hook.deps, left)


async def _after_model(hook: _Hook, made: InvokeModelResult) -> InvokeModelResult:
    agent, answer = hook.agent, made.result
    left = await _rewritten(hook, ours([*agent.messages, answer.message]))
    if left is None:
        return made
    *before, last = left or (Message("assistant"),)
    agent.messages[:] = theirs(hook.deps, before)
    return InvokeModelResult(_answer(hook, last, answer))


def _answer(
    hook: _Hook, said: Message, instead_of: ModelStopReason | None = None
) -> Any:  # noqa: ANN401  # as the framework has it
    [message] = theirs(hook.deps, [said])
    told: Any = (
        {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0},
        {"latencyMs": 0},
    )
    if instead_of is not None:
        told = cast("Any", instead_of)["stop"][2:]
    return ModelStopReason(stopped(said), message, *told)


async def _after_agent(hook: _Hook, event: AfterInvocationEvent) -> None:
    """Show the handler the history of a run that came to an answer."""
    if event.result is None or event.result.stop_reason != "end_turn":
        return
    ctx = await hook.call(hook.deps.ctx, ours(event.agent.messages))
    hook.deps.unchanged(ctx, hook.where)


async def _wrap_model(hook: _Hook, context: InvokeModelContext, inner: Inner) -> Events:
    deps = hook.deps
    if deps.streams:
        deps.refuse("streamed_model_wraps", hook.where)
    first = (Message("system", p),) if (p := context.agent.system_prompt) else ()
    messages = (*first, *ours(context.messages))
    given = ModelRequest(messages, deps.shown(context.tool_specs), NO_OPTIONS)
    told: list[Any] = []

    async def call(left: Context, passed: ModelRequest) -> Message:
        deps.unchanged(left, hook.where)
        asked = context
        if (*passed.messages,) != messages or (*passed.tools,) != (*given.tools,):
            asked = _asking(hook, context, passed)
        told[:] = [event async for event in inner(asked)]
        return our_message(_result(told, ModelStopReason).message)

    said = await hook.call(deps.ctx, given, call)
    last = _result(told, ModelStopReason)
    for event in told:
        if event is not last:
            yield event
    unchanged = last is not None and our_message(last.message) == said
    yield last if unchanged else _answer(hook, said, last)


def _result(told: list[Any], kind: type[Any]) -> Any:  # noqa: ANN401  # of that kind
    return next((each for each in reversed(told) if isinstance(each, kind)), None)


def _asking(
    hook: _Hook, context: InvokeModelContext, passed: ModelRequest
) -> InvokeModelContext:
    """Return a request with what a wrapper of ours asks for."""
    messages, instruction = tuple(passed.messages), None
    if messages and messages[0].role == "system" and context.system_prompt:
        instruction, messages = messages[0].content, messages[1:]
    known = {each["name"]: each for each in context.tool_specs}
    if not known.keys() >= {info.name for info in passed.tools}:
        hook.deps.refuse("edited_config", hook.where)
    return context.replace(
        messages=theirs(hook.deps, messages),
        system_prompt=instruction,
        tool_specs=[known[info.name] for info in passed.tools],
    )


async def _wrap_tool(hook: _Hook, context: ExecuteToolContext, inner: Inner) -> Events:
    deps, call = hook.deps, our_call(context.tool_use)
    told: list[Any] = []

    async def rest(left: Context, value: ToolCallInput) -> ToolCallResult:
        deps.unchanged(left, hook.where)
        passed, asked = ToolCall(value.call_id, value.name, value.arguments), context
        if passed != call:
            use = their_call(passed, deps.parsed(passed))
            asked = context.replace(tool_use=use)
        told[:] = [event async for event in inner(asked)]
        return ToolCallResult(_text(_result(told, ToolResultEvent)))

    value = ToolCallInput(call.name, call.arguments, call.id, NO_OPTIONS)
    result = await hook.call(at_call(deps.ctx, deps.ctx, call.id), value, rest)
    last = _result(told, ToolResultEvent)
    unchanged = last is not None and _text(last) == result.result
    if unchanged:
        yield last
    else:
        yield ToolResultEvent(named_result(call.id, result.result, call.name))


def _text(event: ToolResultEvent) -> str:
    content: Any = event.tool_result["content"]
    return "".join(each.get("text", "") for each in content)


def _on(kind: type[Any]) -> Callable[[Agent, Any], None]:
    def add(agent: Agent, act: Callable[[Any], Awaitable[None]]) -> None:
        async def on_event(event: Any) -> None:  # noqa: ANN401  # of that kind
            await act(event)  # of a partial the framework does not see that it is async

        agent.add_hook(on_event, kind)

    return add


def _in(stage: Any) -> Callable[[Agent, Any], None]:  # noqa: ANN401  # of any kind
    return lambda agent, act: agent.add_middleware(stage, act)


_PLACES: Final[Mapping[str, tuple[Callable[..., None], Callable[..., Any]]]] = (
    MappingProxyType(
        {
            "before_agent": (_on(BeforeInvocationEvent), _before_agent),
            "before_model_rewrite_history": (_on(BeforeModelCallEvent), _before_model),
            "after_model_rewrite_history": (
                _in(InvokeModelStage.Output),
                _after_model,
            ),
            "after_agent": (_on(AfterInvocationEvent), _after_agent),
            "wrap_model_call": (_in(InvokeModelStage), _wrap_model),
            "wrap_invokable_tool_call": (_in(ExecuteToolStage), _wrap_tool),
        }
    )
)
