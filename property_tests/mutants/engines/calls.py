"""Engines in which one step of a call, or one call, knows what another one did.

An edit has no place to keep that: the steps that it would have to join hand each other
nothing, and what belongs to one call is all in slots.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines.between import AS_IT_IS
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    patch,
    wrong,
)
from refengine.chain import SCOPE
from refengine.context import Context
from refengine.events import AgentEvent
from refengine.messages import ToolCall
from refengine.stream import StreamReader
from refengine.tools import ToolCallInput


def _twins_run_once() -> Sequence[Patch]:
    """Run equal calls of a message once, and give each that result."""
    first: dict[Given, Given] = {}
    over: dict[Given, asyncio.Event] = {}

    def making(right: Right) -> Right:
        def batch_of(self: Given, *given: Given) -> Given:
            batch = right(self, *given)
            known: dict[tuple[str, str], Given] = {}
            for run in () if self.streaming else batch.runs:
                over[run] = asyncio.Event()
                at = run.call.name, run.call.arguments
                first[run] = known.setdefault(at, run)
            return batch

        return batch_of

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            twin: Given = first.get(self, self)
            if twin is not self:
                await over[twin].wait()
            if twin is not self and twin.text is not None:
                self.begun, self.text = True, twin.text
                return
            try:
                await right(self, ctx, streaming)
            finally:
                if self in over:
                    over[self].set()

        return opened

    return patch("loop.batch_of", making), patch("call.open", opening)


def _remembered() -> Sequence[Patch]:
    """Give a call that was made before in the run the result that it had."""
    known: dict[tuple[int, str, str], tuple[Given, str]] = {}

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            at = id(self.scope.locals), self.call.name, self.call.arguments
            if at in known and self.record is None:
                self.begun, self.text = True, known[at][1]
                return
            await right(self, ctx, streaming)
            if self.text is not None:
                known[at] = self.scope.locals, self.text

        return opened

    return (patch("call.open", opening),)


def _first_input_counts() -> Sequence[Patch]:
    """Give the tool what the outermost wrapper's input holds."""
    first: dict[Given, ToolCallInput] = {}

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            first[self.scope] = self.input
            await right(self, ctx, streaming)

        return opened

    def running(right: Right) -> Right:
        async def run(ctx: Context, value: ToolCallInput) -> Given:
            return await right(ctx, first.get(SCOPE.get(), value))

        return run

    run = patch("tool.invoke", running), patch("tool.stream", running)
    return patch("call.open", opening), *run


def _result_edits_lost() -> Sequence[Patch]:
    """Remember what the tool's result object held, and take that if it comes out."""
    gave: dict[Given, tuple[Given, str]] = {}

    def running(right: Right) -> Right:
        async def run(ctx: Context, value: ToolCallInput) -> Given:
            result = await right(ctx, value)
            gave[SCOPE.get()] = result, result.result
            return result

        return run

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            await right(self, ctx, streaming)
            result, text = gave.get(self.scope, (None, ""))
            if result is not None and self.text == result.result:
                self.text = text

        return opened

    return patch("tool.invoke", running), patch("call.open", opening)


def _raw_answer() -> Sequence[Patch]:
    """Answer with what the direct tool gave, before any wrapper changed it."""
    raw: list[tuple[Given, str]] = []

    def invoking(right: Right) -> Right:
        async def invoke(ctx: Context, value: ToolCallInput) -> Given:
            result = await right(ctx, value)
            raw.append((SCOPE.get(), result.result))
            return result

        return invoke

    def settling(right: Right) -> Right:
        def settle(self: Given, batch: Given) -> Given:
            direct = self.direct_call(batch.calls)
            ended = right(self, batch)
            for scope, text in raw:
                if direct is not None and getattr(direct, "scope", None) is scope:
                    self.answer = replace(self.answer, content=text)
            return ended

        return settle

    return patch("tool.invoke", invoking), patch("loop.settle", settling)


def _redirecting() -> Sequence[Patch]:
    """Run the tool of the name that the wrappers handed on."""
    tools: dict[str, Given] = {}

    def remember(right: Right) -> Right:
        def prepare_call(
            self: Given, call: ToolCall, bound: Mapping[str, object]
        ) -> Given:
            tools.update(bound)
            return right(self, call, bound)

        return prepare_call

    def look_up(right: Right) -> Right:
        def arrive(ctx: Context, value: ToolCallInput) -> Given:
            scope, tool, at = right(ctx, value)
            return scope, tools.get(value.name, tool), at

        return arrive

    return patch("loop.prepare_call", remember), patch("tool.arrive", look_up)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _inputs(change: Callable[[Given], None]) -> Patch:
    """Tell wrappers other than what the call is."""

    def replaced(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            change(self.input)
            await right(self, ctx, streaming)

        return opened

    return patch("call.open", replaced)


def _told_composed() -> Sequence[Patch]:
    """Show wrappers composed arguments, and give the tool its own."""
    own: dict[str, str] = {}

    def compose(given: Given) -> None:
        own[_composed(given.arguments)] = given.arguments
        given.arguments = _composed(given.arguments)

    def replaced(right: Right) -> Right:
        async def run(ctx: Context, value: Given) -> Given:
            value.arguments = own.get(value.arguments, value.arguments)
            return await right(ctx, value)

        return run

    return (
        _inputs(compose),
        patch("tool.invoke", replaced),
        patch("tool.stream", replaced),
    )


def _siblings_cancelled() -> Sequence[Patch]:
    """Cancel the calls of a run that are under way once one of them asks.

    Calls belong to one run if they have the same run-local values.
    """
    runs: dict[int, tuple[Given, set[asyncio.Task[Given] | None]]] = {}

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            values, task = self.scope.locals, asyncio.current_task()
            _, tasks = runs.setdefault(id(values), (values, set()))
            tasks.add(task)
            try:
                await right(self, ctx, streaming)
            finally:
                tasks.discard(task)
            if self.stopped:
                await asyncio.sleep(0)  # now all of them have begun
                for each in tasks:
                    if each is not None:
                        each.cancel()

        return opened

    def waiting_for_none(right: Right) -> Right:
        """Wait for calls that were cancelled as if they had ended."""

        async def next_event(self: Given) -> AgentEvent | None:
            try:
                event: AgentEvent | None = await right(self)
            except asyncio.CancelledError:
                return None
            return event

        return next_event

    return patch("call.open", opening), patch("batch.next_event", waiting_for_none)


def _from_where_it_broke() -> Sequence[Patch]:
    """Give the consumer only what the attempts before had not given."""
    had: list[tuple[Given, int]] = []

    def replaced(right: Right) -> Right:
        def reader(self: Given, live: Given) -> StreamReader[Given]:
            skip = max((many for each, many in had if each is self), default=0)
            found = right(self, live)

            async def rest() -> AsyncIterator[Given]:
                at = 0
                async for chunk in found:
                    at += 1
                    had.append((self, at))
                    if at > skip:
                        yield chunk

            return StreamReader(rest())

        return reader

    return (patch("attempts.reader", replaced),)


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "equal-calls-run-once",
        "Equal calls of one message are run once, and share that result.",
        "RUN-004",
        PatchedDoor("equal-calls-run-once", _twins_run_once),
    ),
    wrong(
        "earlier-results-remembered",
        "A call that was made before in a run is given the result that it had.",
        "RUN-004",
        PatchedDoor("earlier-results-remembered", _remembered),
    ),
    wrong(
        "new-inputs-ignored",
        "A tool is given the outermost input, whatever was handed on.",
        "WRAP-008",
        PatchedDoor("new-inputs-ignored", _first_input_counts),
    ),
    wrong(
        "result-edits-lost",
        "A result that a wrapper edits in place is the one before.",
        "WRAP-010 WRAP-011",
        PatchedDoor("result-edits-lost", _result_edits_lost),
    ),
    wrong(
        "raw-direct-answer",
        "The answer of a direct call is what the tool gave, before its wrappers.",
        "RD-010",
        PatchedDoor("raw-direct-answer", _raw_answer),
    ),
    wrong(
        "calls-redirected",
        "A wrapper that changes the name of its input calls another tool.",
        "WRAP-014",
        PatchedDoor("calls-redirected", _redirecting),
    ),
    wrong(
        "wrappers-told-composed-arguments",
        "Wrappers are told composed arguments, and the tool its own.",
        "WRAP-002",
        PatchedDoor("wrappers-told-composed-arguments", _told_composed),
        says=AS_IT_IS,
    ),
    wrong(
        "siblings-of-who-asks-cancelled",
        "A call that asks cancels the calls beside it.",
        "INT-006",
        PatchedDoor("siblings-of-who-asks-cancelled", _siblings_cancelled),
    ),
    wrong(
        "retried-stream-continues",
        "A second attempt's stream begins where the one that broke had come to.",
        "STR-005",
        PatchedDoor("retried-stream-continues", _from_where_it_broke),
    ),
)
