"""What takes the place of the engine's own where it is wrong about calls of tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, TypeAlias

from refengine.compiled import Binder
from refengine.errors import ToolNotFound
from refengine.loop import Loop
from refengine.messages import Message, ToolCall
from refengine.model import ModelRequest
from refengine.model_calls import ModelOnion
from refengine.plan import Plan
from refengine.tool_calls import UnknownCall

Right: TypeAlias = Callable[..., Any]
Given: TypeAlias = Any  # what the engine hands on, of whatever type


def offered_once(right: Right) -> Right:
    """Offer tools until there is a result."""

    async def bare(
        self: Given,
        ctx: Given,
        messages: Sequence[Message],
        tools: Given,
        options: Given,
    ) -> Given:
        results = any(message.role == "tool" for message in messages)
        return await right(self, ctx, messages, () if results else tools, options)

    return bare


def told_once(right: Right) -> Right:
    """Give the tools to the first iteration alone."""

    async def answer(self: Loop, ctx: Given) -> Given:
        if self.iterations > 1:
            self.plan = replace(self.plan, shown=())
        return await right(self, ctx)

    return answer


_ASKED: Final[ContextVar[ModelRequest]] = ContextVar("asked")


def remembering(right: Right) -> Right:
    """Remember a request as it was before any wrapper saw it."""

    def call(self: ModelOnion, *, streaming: bool) -> Given:
        inner = right(self, streaming=streaming)

        async def outer(ctx: Given, request: ModelRequest) -> Given:
            _ASKED.set(request)
            return await inner(ctx, request)

        return outer

    return call


def all_offered(right: Right) -> Right:
    """Offer the tools of the request that was remembered."""

    async def innermost(self: ModelOnion, ctx: Given, request: ModelRequest) -> Given:
        return await right(self, ctx, replace(request, tools=_ASKED.get().tools))

    return innermost


def default_bound(right: Right) -> Right:
    """Do not bind tools that handlers added."""

    def for_run(self: Binder, plan: Plan) -> Given:
        names = {meta.name for meta in plan.registered}
        return {n: tool for n, tool in right(self, plan).items() if n in names}

    return for_run


def first_called(right: Right) -> Right:
    """Call the tool of the first call for all of them."""

    def batch_of(self: Loop, calls: Sequence[ToolCall], ctx: Given) -> Given:
        calls = [replace(each, name=calls[0].name) for each in calls]
        return right(self, calls, ctx)

    return batch_of


def nothing_hidden(_: Right) -> Right:
    """Let every tool be known."""
    return lambda *_: False


def answered(right: Right) -> Right:
    """Tell the model of an unknown tool, and go on."""

    def run_of(self: Loop, call: ToolCall, bound: Given) -> Given:
        try:
            return right(self, call, bound)
        except ToolNotFound:
            return self.absent_call(call, f"There is no {call.name}.")

    return run_of


def answered_quietly(right: Right) -> Right:
    """Answer a call of an unknown tool as if unknown_tools_handler had."""

    def run_of(self: Loop, call: ToolCall, bound: Given) -> Given:
        try:
            return right(self, call, bound)
        except ToolNotFound:
            return UnknownCall(call, lambda name, _: f"there is no {name}")

    return run_of


def nobody_asked(right: Right) -> Right:
    """End the run though unknown_tools_handler has an answer."""

    def run_of(self: Loop, call: ToolCall, bound: Given) -> Given:
        run = right(self, call, bound)
        if isinstance(run, UnknownCall):
            raise ToolNotFound(call.name, ())
        return run

    return run_of


def wrapped(right: Right) -> Right:
    """Send what unknown_tools_handler answers through the wrappers."""

    def run_of(self: Loop, call: ToolCall, bound: Given) -> Given:
        run = right(self, call, bound)
        unknown = isinstance(run, UnknownCall)
        return self.absent_call(call, run.text) if unknown else run

    return run_of


def name_told(right: Right) -> Right:
    """Give the name of the tool for the result."""

    def made(self: UnknownCall, call: ToolCall, _: Given) -> None:
        def name_of(name: str, _: str) -> str:
            return name

        right(self, call, name_of)

    return made


def fail_late(right: Right) -> Right:
    """Run the calls whose tools are there before the unknown one ends the run."""

    def batch_of(self: Loop, calls: Sequence[ToolCall], ctx: Given) -> Given:
        try:
            return right(self, calls, ctx)
        except ToolNotFound as error:
            known = [call for call in calls if call.name in self.bound]
            return _Late(right(self, known, ctx), error)

    return batch_of


class _Late:
    """A batch that fails in the end."""

    def __init__(self, batch: Given, error: Exception) -> None:
        self.batch = batch
        self._error = error

    async def next_event(self) -> Given:
        event = await self.batch.next_event()
        if event is None:
            raise self._error
        return event

    def __getattr__(self, name: str) -> Given:
        return getattr(self.batch, name)
