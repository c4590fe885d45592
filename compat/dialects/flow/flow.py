"""The flow of one agent: steps around its model, until an answer is final.

A step prepares the request by its processors, asks the model, tells each response as an
event, and runs the calls in it. This is the heart of the dialect; the seed describes it
as Flow.Run and runOneStep.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, fields
from itertools import takewhile
from typing import Final, cast

from compat.dialects.flow.confirming import with_confirmation
from compat.dialects.flow.contexts import (
    ActionsDraft,
    InvocationContext,
    ToolContext,
)
from compat.dialects.flow.events import Event, Events
from compat.dialects.flow.hooks import AfterModel, BeforeModel, OnModelError
from compat.dialects.flow.merging import is_final
from compat.dialects.flow.model import FlowModel, LlmRequest, LlmResponse
from compat.dialects.flow.model_calls import ModelStage, with_call_ids
from compat.dialects.flow.processing import (
    RequestProcessor,
    ResponseProcessor,
    events_of,
    processed_response,
)
from compat.dialects.flow.run_errors import ModelMissingError, PartialEndError
from compat.dialects.flow.structured import structured_answer
from compat.dialects.flow.tool_calls import ToolHooks, call_tools
from compat.dialects.flow.tools import Tool, add_tool
from compat.dialects.flow.transfer import found_target
from compat.dialects.flow.tree import Agent
from refengine.awaiting import settled

_LOG: Final = logging.getLogger("refengine.flow")


@dataclass(slots=True, kw_only=True)
class Flow:
    """How one agent works: made anew for each run of it, as the seed's is.

    ``tools`` grows by what the tool processor finds.
    """

    model: FlowModel | None = None
    tools: list[Tool] = field(default_factory=list[Tool])
    request_processors: Sequence[RequestProcessor] = ()
    response_processors: Sequence[ResponseProcessor] = ()
    before_model: Sequence[BeforeModel] = ()
    after_model: Sequence[AfterModel] = ()
    on_model_error: Sequence[OnModelError] = ()
    tool_hooks: ToolHooks = field(default_factory=ToolHooks)

    async def run(self, ctx: InvocationContext) -> Events:
        """Yield the events of step after step, until one is final."""
        while True:
            last: Event | None = None
            async with aclosing(self.step(ctx)) as events:
                async for event in events:
                    yield event
                    last = event
            if last is None or ctx.ended or _ends(last, ctx):
                return

    async def step(self, ctx: InvocationContext) -> Events:
        """Yield the events of one request to the model and of what follows it."""
        if self.model is None:
            raise ModelMissingError(ctx.agent.name)
        request = LlmRequest(model=self.model.name)
        done = False
        async with aclosing(self._prepare(ctx, request)) as events:
            async for event in events:
                yield event
                done = done or _settles(event, ctx)
        if ctx.ended or done:
            return
        callbacks = self.before_model, self.after_model, self.on_model_error
        stage = ModelStage(ctx, self.model, *callbacks)
        async with aclosing(stage.responses(request)) as responses:
            async for given in responses:
                response = await processed_response(
                    ctx, request, given, self.response_processors
                )
                if _is_skipped(response, ctx):
                    continue
                event = _model_event(ctx, response, stage, request)
                yield event
                if event.partial and ctx.profile.partial_calls == "skipped":
                    continue
                followed = False
                async with aclosing(self._follow(ctx, event, request)) as following:
                    async for each in following:
                        followed = True
                        yield each
                if followed:
                    return

    async def _prepare(self, ctx: InvocationContext, request: LlmRequest) -> Events:
        for index, processor in enumerate(self.request_processors):
            found = events_of(ctx, processor, index, request, self)
            async with aclosing(found) as events:
                async for event in events:
                    yield event
        for tool in self.tools:
            if tool.prepare is None:
                add_tool(request, tool, ctx.agent.name, ctx.profile)
            else:
                await settled(
                    tool.prepare(ToolContext(ctx, ActionsDraft(), ""), request)
                )

    async def _follow(
        self, ctx: InvocationContext, event: Event, request: LlmRequest
    ) -> Events:
        """Yield what the calls of an event lead to; nothing if there are none."""
        if not event.calls:
            return
        hooks, tools = self.tool_hooks, request.tools
        responses, error = await call_tools(ctx, hooks, event.calls, tools)
        if responses is not None:
            for each in with_confirmation(ctx, event, responses):
                yield each
        if error is not None:
            raise error
        if responses is None:
            return
        answer = structured_answer(ctx, responses)
        if answer is not None:
            yield answer
        if responses.actions.transfer_to_agent:
            async with aclosing(_hand_over(ctx, responses)) as events:
                async for each in events:
                    yield each


def _settles(event: Event, ctx: InvocationContext) -> bool:
    """Tell whether an event of a processor leaves the model nothing to answer to."""
    final = bool(event.responses) and is_final(event, ctx.profile)
    return final and ctx.profile.resumed_final == "ends"


def _ends(last: Event, ctx: InvocationContext) -> bool:
    """Tell whether the turn is over after a step with that last event."""
    if is_final(last, ctx.profile):
        again = ctx.profile.thought_only_turn == "goes_on" and _is_thought_only(last)
        return not again
    if not last.partial:
        return False
    if ctx.profile.last_partial == "error":
        raise PartialEndError(ctx.agent.name)
    _LOG.warning("agent %r: the last event of a step is partial", ctx.agent.name)
    return True


def _is_thought_only(event: Event) -> bool:
    parts = () if event.content is None else event.content.parts
    return bool(parts) and all(each.thought for each in parts)


def _is_skipped(response: LlmResponse, ctx: InvocationContext) -> bool:
    """Tell whether a response makes no event."""
    grounded = response.grounding is not None and (
        ctx.profile.skipped_response == "no_content_or_grounding"
    )
    says = response.content is not None or response.error_code or grounded
    return not says and not response.interrupted


def _model_event(
    ctx: InvocationContext,
    response: LlmResponse,
    stage: ModelStage,
    request: LlmRequest,
) -> Event:
    """Return the response as an event, with what the model hooks wrote."""
    given = {each.name: getattr(response, each.name) for each in fields(LlmResponse)}
    content = with_call_ids(response.content, ctx)
    calls = () if content is None else content.calls
    long = (each.id for each in calls if _is_long_running(each.name, request))
    return ctx.event(
        **(given | {"content": content}),
        actions=stage.taken_actions(),
        long_running_ids=tuple(long),
    )


def _is_long_running(name: str, request: LlmRequest) -> bool:
    tool: Tool | None = request.tools.get(name)
    return tool is not None and tool.long_running


def _above(ctx: InvocationContext, target: Agent) -> tuple[str, ...]:
    """Return who handed the turn down to a target: to a child, a parent or a peer."""
    if ctx.invocation.tree.parent(target) is ctx.agent:
        return (*ctx.above, ctx.agent.name)
    if ctx.invocation.tree.parent(ctx.agent) is not target:
        return ctx.above
    return tuple(takewhile(lambda each: each != target.name, ctx.above))


async def _hand_over(ctx: InvocationContext, responses: Event) -> Events:
    """Yield the events of the agent that the responses transfer to, if any."""
    if not (ctx.first and ctx.waits):
        async with aclosing(_handed_over(ctx, responses)) as events:
            async for event in events:
                yield event
    if ctx.first and ctx.profile.transferring_agent == "left_behind":
        ctx.end()


async def _handed_over(ctx: InvocationContext, responses: Event) -> Events:
    tree, name = ctx.invocation.tree, responses.actions.transfer_to_agent
    parent = tree.parent(ctx.agent)
    target = found_target(name, ctx.agent, parent, tree.root, ctx.profile)
    found = cast("Agent", target)
    inner = ctx.within(found)
    inner.first, inner.watched = ctx.first, True
    inner.above = _above(ctx, found)
    ctx.invocation.speaker = inner.above[-1] if inner.above else found.name
    async with aclosing(ctx.invocation.run_agent(inner)) as events:
        async for event in events:
            yield event
