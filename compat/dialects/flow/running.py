"""How an agent of any kind runs: its hooks, its body, and the agents below it.

Agent hooks stand around the body: plugins first, then the callbacks. Content of a
before hook takes the place of the body and of the after hooks; content of an after hook
is one more event. Hooks that wrote state alone make an event without content.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from compat.dialects.flow.agents import (
    CustomAgent,
    LlmAgent,
    LoopAgent,
    ParallelAgent,
    SequentialAgent,
)
from compat.dialects.flow.contexts import (
    ActionsDraft,
    CallbackContext,
    InvocationContext,
)
from compat.dialects.flow.events import Event, Events
from compat.dialects.flow.flow import Flow
from compat.dialects.flow.output import keeping_output, with_output
from compat.dialects.flow.parallel import run_in_parallel
from compat.dialects.flow.processors import (
    DEFAULT_REQUEST_PROCESSORS,
    DEFAULT_RESPONSE_PROCESSORS,
)
from compat.dialects.flow.run_errors import AgentFieldError
from compat.dialects.flow.stages import callback_value, plugin_value
from compat.dialects.flow.tool_calls import ToolHooks
from compat.dialects.flow.tracing import span
from compat.dialects.flow.tree import Agent


async def run_agent(ctx: InvocationContext) -> Events:
    """Yield the events of ``ctx.agent``, its hooks' among them."""
    with span(ctx, "invoke_agent") as own:
        ctx.span = own
        async with aclosing(_run(ctx)) as events:
            async for event in events:
                yield event


async def _run(ctx: InvocationContext) -> Events:
    event, answered = await _before(ctx)
    if event is not None:
        yield event
    if answered or ctx.ended:
        return
    came: Exception | None = None
    try:
        async with aclosing(_body(ctx)) as events:
            async for event in events:
                ctx.waits = ctx.waits or _stops_parents(ctx, event)
                yield event
    except Exception as error:
        skipped = ctx.profile.after_agent_on_error == "skipped"
        if skipped or ctx.watched or ctx.invocation.crashed:
            raise
        came = error
    try:
        event, _ = await _hook_event(ctx, "after_agent")
    except Exception:
        if came is not None:  # the first one comes out
            raise came from came.__cause__
        raise
    if event is not None:
        yield event
    if came is not None:
        raise came


async def _before(ctx: InvocationContext) -> tuple[Event | None, bool]:
    """Return what ``_hook_event`` does; an error ends the agent, or only waits."""
    try:
        event, answered = await _hook_event(ctx, "before_agent")
    except Exception as error:
        if ctx.profile.before_agent_error == "ends" or ctx.watched:
            raise
        ctx.invocation.unstopping.append(error)
        return None, False
    kept = ctx.profile.output_key == "whole_turn"
    if kept and event is not None and isinstance(ctx.agent, LlmAgent):
        event = with_output(ctx, ctx.agent, event, [])
    return event, answered


async def _hook_event(ctx: InvocationContext, hook: str) -> tuple[Event | None, bool]:
    """Return the event of an agent hook, and whether a hook gave content."""
    if ctx.ended:
        return None, False
    draft = ActionsDraft()
    shown = CallbackContext(ctx, draft)
    content = await plugin_value(ctx, hook, shown)
    if content is None:
        callbacks: Sequence[Any] = getattr(ctx.agent, hook)
        content = await callback_value(ctx, hook, callbacks, (shown,))
    if content is None and not draft.says_anything:
        return None, False
    return ctx.event(content=content, actions=draft.made()), content is not None


def _body(ctx: InvocationContext) -> Events:
    agent = ctx.agent
    if isinstance(agent, LlmAgent):
        return keeping_output(ctx, agent, flow_of(agent).run(ctx))
    if isinstance(agent, SequentialAgent):
        return _in_turn(ctx)
    if isinstance(agent, LoopAgent):
        return _again_and_again(ctx, agent.max_iterations)
    if isinstance(agent, ParallelAgent):
        return run_in_parallel(ctx, run_agent)
    if isinstance(agent, CustomAgent):
        return _users_own(agent, ctx)
    raise AgentFieldError(agent.name, "kind", agent, "an agent of a kind of agents.py")


def flow_of(agent: LlmAgent) -> Flow:
    """Return the flow that runs the agent, with the processors that it names."""
    requests, responses = agent.request_processors, agent.response_processors
    hooks: Any = agent  # its lists are tuples of functions since it was made
    return Flow(
        model=agent.model,
        request_processors=DEFAULT_REQUEST_PROCESSORS if requests is None else requests,
        response_processors=(
            DEFAULT_RESPONSE_PROCESSORS if responses is None else responses
        ),
        before_model=hooks.before_model,
        after_model=hooks.after_model,
        on_model_error=hooks.on_model_error,
        tool_hooks=ToolHooks(
            before=hooks.before_tool,
            after=hooks.after_tool,
            on_error=hooks.on_tool_error,
        ),
    )


async def _users_own(agent: CustomAgent, ctx: InvocationContext) -> Events:
    async for event in agent.run(ctx):
        yield event


async def _in_turn(ctx: InvocationContext) -> Events:
    escalation = ctx.profile.sequence_escalation == "ends"
    for each in ctx.agent.sub_agents:
        over = False
        async with aclosing(_step(ctx, each)) as events:
            async for event in events:
                yield event
                escalates = escalation and bool(event.actions.escalate)
                over = over or escalates or _stops_parents(ctx, event)
        if over:
            return


async def _again_and_again(ctx: InvocationContext, most: int) -> Events:
    """Run the sub-agents in turn, again until one of them has escalated."""
    rounds = 0
    while ctx.agent.sub_agents and (not most or rounds < most):
        rounds += 1
        for each in ctx.agent.sub_agents:
            over = False
            async with aclosing(_step(ctx, each)) as events:
                async for event in events:
                    yield event
                    escalates = bool(event.actions.escalate)
                    over = over or escalates or _stops_parents(ctx, event)
            if over:
                return


async def _step(ctx: InvocationContext, agent: Agent) -> Events:
    """Yield the events of one agent of several; an error ends it, or only waits."""
    inner = ctx.within(agent)
    inner.watched = ctx.watched or _crashes(ctx)
    try:
        async with aclosing(run_agent(inner)) as events:
            async for event in events:
                yield event
    except Exception as error:
        if ctx.watched or ctx.profile.failed_step != "next_goes_on":
            ctx.invocation.crashed |= _crashes(ctx)
            raise
        ctx.invocation.unstopping.append(error)


def _crashes(ctx: InvocationContext) -> bool:
    """Tell whether nothing of the run goes on behind an error of one of several."""
    return ctx.profile.failed_step == "crashes" and not ctx.watched


def _stops_parents(ctx: InvocationContext, event: Event) -> bool:
    """Tell whether nobody goes on behind the agent that told this event."""
    waiting = {each.id for each in event.calls} & {*event.long_running_ids}
    return bool(waiting) and ctx.profile.waiting_agent == "parents_stop"
