"""The tool stage of a flow: one call with its hooks, and all calls of a response.

Where errors are data, whatever a tool or a hook raises becomes the call's response, and
the after hooks see it as well; elsewhere an exception that nobody recovers ends the run
(adk.md §1.6).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, final

from compat.dialects.flow.confirming import refusal
from compat.dialects.flow.content import Content, FunctionCall, FunctionResponse, Part
from compat.dialects.flow.contexts import (
    ActionsDraft,
    InvocationContext,
    ToolContext,
)
from compat.dialects.flow.events import Event, ToolConfirmation
from compat.dialects.flow.hooks import AfterTool, BeforeTool, OnToolError
from compat.dialects.flow.merging import merge_responses, said_flags
from compat.dialects.flow.run_errors import UnknownFlowToolError
from compat.dialects.flow.stages import callback_value, plugin_value
from compat.dialects.flow.state import checked_json
from compat.dialects.flow.tools import Tool
from compat.dialects.flow.tracing import span
from compat.dialects.flow.values import plain
from refengine.awaiting import ended, settled
from refengine.messages import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolHooks:
    """The callbacks of an agent around its tools."""

    before: Sequence[BeforeTool] = ()
    after: Sequence[AfterTool] = ()
    on_error: Sequence[OnToolError] = ()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a stage came to: a value, or an error that nobody recovered yet."""

    value: Any = None
    error: Exception | None = None


@final
class ToolStage:
    """One call of a tool with its hooks."""

    def __init__(
        self,
        ctx: InvocationContext,
        hooks: ToolHooks,
        call: FunctionCall,
        confirmation: ToolConfirmation | None = None,
    ) -> None:
        self._ctx, self._hooks, self._call = ctx, hooks, call
        self._args = cast("dict[str, Any]", plain(call.args))
        self.actions = ActionsDraft()
        self._tool_ctx = ToolContext(ctx, self.actions, call.id, confirmation)

    async def response(self, tools: Mapping[str, Tool]) -> Event | None:
        """Return the event with the call's response, None if it has none yet."""
        with span(self._ctx, "execute_tool", tool=self._call.name, call=self._call.id):
            return await self._response(tools)

    async def _response(self, tools: Mapping[str, Tool]) -> Event | None:
        tool = tools.get(self._call.name)
        if tool is None or tool.run is None:
            found = await self._unknown(tool or Tool(name=self._call.name), tools)
        else:
            found = await self._run(tool)
            if tool.long_running and self._held_back(found):
                return None
        return self._event(tool, found)

    async def _run(self, tool: Tool) -> _Outcome:
        found = await self._caught(lambda: self._before(tool), hook=True)
        if found.error is None and found.value is None:
            found = await self._caught(lambda: self._body(tool), hook=False)
        if found.error is not None:
            found = await self._recovered(tool, found)
        return await self._after(tool, found)

    async def _unknown(self, tool: Tool, tools: Mapping[str, Tool]) -> _Outcome:
        posture = self._ctx.profile.unknown_tool
        if posture == "hooked_and_answered":
            early = await self._caught(lambda: self._before(tool), hook=True)
            if early.value is not None:
                return await self._after(tool, early)
        runnable = tuple(each.name for each in tools.values())
        error = UnknownFlowToolError(tool.name, runnable)
        found = await self._recovered(tool, _Outcome(error=error))
        if found.error is error and posture == "aborts":
            raise error
        if found.error is error and posture == "hooked_and_answered":
            return _Outcome({"error": _try_again(tool.name, runnable)})
        return found

    async def _before(self, tool: Tool) -> Mapping[str, Any] | None:
        return await self._stage("before_tool", self._hooks.before, tool, self._args)

    async def _body(self, tool: Tool) -> object:
        refused = await refusal(tool, self._tool_ctx, self._args)
        if refused is not None:
            return refused
        run = cast("Callable[..., object]", tool.run)
        value = await settled(run(self._tool_ctx, self._args))
        if value is None or isinstance(value, Mapping):
            return cast("object", value)
        return (
            value if self._ctx.profile.after_tool_sees == "raw" else {"result": value}
        )

    async def _recovered(self, tool: Tool, failed: _Outcome) -> _Outcome:
        args = (tool, self._args, failed.error)
        found = await self._caught(
            lambda: self._stage("on_tool_error", self._hooks.on_error, *args), hook=True
        )
        if found.value is not None or found.error is not None:
            return found
        return failed

    async def _after(self, tool: Tool, found: _Outcome) -> _Outcome:
        if found.error is not None and self._ctx.profile.tool_failures == "abort":
            raise found.error
        args = (tool, self._args, found.value, found.error)
        left = await self._caught(
            lambda: self._stage("after_tool", self._hooks.after, *args), hook=True
        )
        return found if left.value is None and left.error is None else left

    async def _stage(
        self, hook: str, callbacks: Sequence[Callable[..., object]], *args: object
    ) -> Mapping[str, Any] | None:
        given = (self._tool_ctx, *args)
        value = await plugin_value(self._ctx, hook, *given)
        if value is None:
            value = await callback_value(self._ctx, hook, callbacks, given)
        return cast("Mapping[str, Any] | None", value)

    async def _caught(
        self, call: Callable[[], Awaitable[Any]], *, hook: bool
    ) -> _Outcome:
        """Return what came of it; a tool's own error goes to hooks first anywhere."""
        try:
            return _Outcome(await call())
        except Exception as error:
            if hook and self._ctx.profile.tool_failures == "abort":
                raise
            return _Outcome(error=error)

    def _held_back(self, found: _Outcome) -> bool:
        posture = self._ctx.profile.long_running_nothing
        if found.error is not None or posture == "answered":
            return False
        return not found.value if posture == "empty_held_back" else found.value is None

    def _event(self, tool: Tool | None, found: _Outcome) -> Event:
        response = FunctionResponse(self._call.name, self._told(found), self._call.id)
        shown = _shown(found) if tool is not None and self._shows(tool) else ()
        return self._ctx.event(
            content=Content("user", (Part(response=response), *shown)),
            actions=said_flags(self.actions.made(), self._ctx.profile),
        )

    def _shows(self, tool: Tool) -> bool:
        """Tell whether what the call gave stands in its event as a text as well."""
        skips = tool.agent is not None and self.actions.skip_summarization
        posture = self._ctx.profile.agent_tool_skipping
        return bool(skips) and posture == "text_as_well"

    def _told(self, found: _Outcome) -> Mapping[str, Json] | None:
        if found.error is not None:
            return {"error": str(found.error)}
        if found.value is None and self._ctx.profile.after_tool_sees == "mapping":
            return None
        is_object = isinstance(found.value, Mapping)
        told: object = found.value if is_object else {"result": found.value}
        where = f"the result of tool {self._call.name!r}"
        return cast("Mapping[str, Json]", checked_json(told, where))


def _shown(found: _Outcome) -> Sequence[Part]:
    """Return what a call gave as a text; nothing for an error, and for nothing."""
    value = found.value
    if found.error is not None or value in (None, "", {"result": None}):
        return ()
    if isinstance(value, str):
        return (Part(text=value),)
    told: object = plain(cast("Json", value))
    if isinstance(told, dict) and "error" in told:
        return ()
    return (Part(text=json.dumps(told, ensure_ascii=False)),)


def _try_again(name: str, available: Sequence[str]) -> str:
    return (
        f"Invoking `{name}()` failed as no tool with that name is available. The tools"
        f" you can call are: {', '.join(available) or 'none'}. You could retry, but it"
        " is IMPORTANT that you only call a tool from that list."
    )


class Called(NamedTuple):
    """What the calls of one response came to: their event, and what ends the run."""

    event: Event | None
    error: Exception | None = None


async def call_tools(
    ctx: InvocationContext,
    hooks: ToolHooks,
    calls: Sequence[FunctionCall],
    tools: Mapping[str, Tool],
    confirmations: Mapping[str, ToolConfirmation] | None = None,
) -> Called:
    """Run the calls of one response; return one event of all their responses.

    The responses stand in call order, whatever finished first. There is no event if
    there is no response yet. ``confirmations`` is by call id, for calls that waited.
    """
    given = confirmations or {}
    stages = [ToolStage(ctx, hooks, each, given.get(each.id)) for each in calls]
    if ctx.profile.parallel_calls == "sequential":
        found = [await each.response(tools) for each in stages]
        return _merged(ctx, found)
    return await _together(ctx, [each.response(tools) for each in stages])


async def _together(
    ctx: InvocationContext, calls: Sequence[Coroutine[Any, Any, Event | None]]
) -> Called:
    """Run them at the same time; the first error in call order is what ends the run.

    The others finish before, and count for nothing; or they are cancelled, and what was
    finished is told.
    """
    if not calls:
        return Called(None)
    cancels = ctx.profile.failing_call == "siblings_cancelled"
    tasks = [asyncio.ensure_future(each) for each in calls]
    try:
        when = asyncio.FIRST_EXCEPTION if cancels else asyncio.ALL_COMPLETED
        done, _ = await asyncio.wait(tasks, return_when=when)
        errors = [each.exception() for each in tasks if each in done]
        error = next((each for each in errors if each is not None), None)
        if error is None:
            return _merged(ctx, [each.result() for each in tasks])
        if not isinstance(error, Exception):
            raise error
        whole = [x.result() for x in tasks if x in done and x.exception() is None]
        return _merged(ctx, filter(_only_tells, whole) if cancels else (), error)
    finally:
        await ended(cast("Iterable[asyncio.Task[None]]", tasks))


def _only_tells(event: Event | None) -> bool:
    """Tell whether a response asks for nothing more, which nobody would do now."""
    if event is None:
        return False
    told = event.actions
    return not (told.transfer_to_agent or told.escalate or told.requested_confirmations)


def _merged(
    ctx: InvocationContext,
    found: Iterable[Event | None],
    error: Exception | None = None,
) -> Called:
    events = [each for each in found if each is not None]
    return Called(merge_responses(events, ctx.profile), error)
