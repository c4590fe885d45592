"""Engines that lose one of many calls, or take one for another (CONC, RUN, MSG)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Patch,
    PatchedDoor,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.messages import ToolCall


def _calls_as(change: Callable[[Sequence[ToolCall]], Sequence[ToolCall]]) -> Patch:
    """Run other calls than those of a message."""

    def replaced(right: Right) -> Right:
        def batch_of(self: Given, calls: Sequence[ToolCall], ctx: Context) -> Given:
            return right(self, tuple(change(calls)), ctx)

        return batch_of

    return patch("loop.batch_of", replaced)


def _eight(calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
    return calls[:8]


def _results_by_order_of_ids(right: Right) -> Right:
    def settle(self: Given, batch: Given) -> Given:
        batch.calls = sorted(batch.calls, key=lambda each: str(each.call.id))
        return right(self, batch)

    return settle


def _in_groups() -> Sequence[Patch]:
    """Begin the calls of a message by eights, each when the ones before ended."""
    before: dict[Given, Sequence[Given]] = {}
    over: dict[Given, asyncio.Event] = {}

    def making(right: Right) -> Right:
        def batch_of(self: Given, *given: Given) -> Given:
            batch = right(self, *given)
            for at, run in enumerate(batch.runs):
                over[run] = asyncio.Event()
                before[run] = batch.runs[: at - at % 8]
            return batch

        return batch_of

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            for each in before[self]:
                await over[each].wait()
            try:
                await right(self, ctx, streaming)
            finally:
                over[self].set()

        return opened

    return patch("loop.batch_of", making), patch("call.open", opening)


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


def _first_to_fail() -> Sequence[Patch]:
    """End a run with the error of the call that failed first in time."""
    failed: list[Given] = []

    def opening(right: Right) -> Right:
        async def opened(self: Given, ctx: Context, streaming: bool) -> None:
            await right(self, ctx, streaming)
            if self.error is not None:
                failed.append(self)

        return opened

    def choosing(right: Right) -> Right:
        def error(self: Given) -> Given:
            own = [each for each in failed if any(each is run for run in self.calls)]
            return own[0].error if own else right(self)

        return error

    return patch("call.open", opening), patch("batch.error", choosing)


def _ids_of_the_first(right: Right) -> Right:
    """Tell each call of a message that it has the id of the first."""

    def batch_of(self: Given, *given: Given) -> Given:
        batch = right(self, *given)
        for run in batch.runs[1:]:
            run.scope.call_id = batch.runs[0].call.id
        return batch

    return batch_of


def _first_unknown_only(right: Right) -> Right:
    """Answer the first unknown call of a message, and the others with nothing."""

    def batch_of(self: Given, *given: Given) -> Given:
        batch = right(self, *given)
        unknown = [each for each in batch.calls if hasattr(each, "answered")]
        for each in unknown[1:]:
            each.answered = True
        return batch

    return batch_of


def _thirty_two(calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
    return calls[:32]


def _by_place_as_text(calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
    """Order calls by their places, as who sorts texts does: 0, 1, 10, 11, 2."""
    return [calls[at] for at in sorted(range(len(calls)), key=str)]


def _with_ids(calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
    return [each for each in calls if each.id]


def _of_near_ids(change: Callable[[str], str]) -> Patch:
    """Run one call of those whose ids are nearly the same."""

    def first(calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        found: dict[str, ToolCall] = {}
        for call in calls:
            found.setdefault(change(call.id), call)
        return list(found.values())

    return _calls_as(first)


def _at_most(count: int) -> Door:
    """Have so many calls of a message open at a time."""

    def patches() -> Sequence[Patch]:
        open_: dict[Given, asyncio.Semaphore] = {}

        def making(right: Right) -> Right:
            def batch_of(self: Given, *given: Given) -> Given:
                batch = right(self, *given)
                shared = asyncio.Semaphore(count)
                open_.update(dict.fromkeys(batch.runs, shared))
                return batch

            return batch_of

        def opening(right: Right) -> Right:
            async def opened(self: Given, ctx: Context, streaming: bool) -> None:
                async with open_[self]:
                    await right(self, ctx, streaming)

            return opened

        return patch("loop.batch_of", making), patch("call.open", opening)

    return PatchedDoor(f"at-most-{count}", patches)


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "eight-calls-a-message",
        "Of the calls of a message the first eight are run.",
        "RUN-004 CONC-002",
        _calls_as(_eight),
    ),
    wrong(
        "calls-by-eights",
        "The ninth call of a message begins when the first eight have ended.",
        "CONC-001",
        PatchedDoor("calls-by-eights", _in_groups),
    ),
    broken(
        "results-by-order-of-ids",
        "The results of a message are kept in the order of their ids.",
        "MSG-010",
        patch("loop.settle", _results_by_order_of_ids),
    ),
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
        "first-error-in-time",
        "Of several calls that fail, the error of the one that failed first counts.",
        "CONC-006",
        PatchedDoor("first-error-in-time", _first_to_fail),
    ),
    broken(
        "call-id-of-the-first",
        "Each call of a message finds the id of the first.",
        "CTX-010",
        patch("loop.batch_of", _ids_of_the_first),
    ),
    broken(
        "one-unknown-call-answered",
        "Of several unknown calls of a message the first has the handler's text.",
        "TOOL-021",
        patch("loop.batch_of", _first_unknown_only),
    ),
    broken(
        "thirty-two-calls-a-message",
        "Of the calls of a message the first 32 are run.",
        "RUN-004 CONC-002",
        _calls_as(_thirty_two),
    ),
    wrong(
        "sixteen-calls-at-a-time",
        "Of the calls of a message sixteen are open at a time.",
        "CONC-001",
        _at_most(16),
    ),
    wrong(
        "thirty-two-calls-at-a-time",
        "Of the calls of a message 32 are open at a time.",
        "CONC-001",
        _at_most(32),
    ),
    broken(
        "results-by-place-as-text",
        "From eleven calls on results are in the order of texts.",
        "MSG-010",
        _calls_as(_by_place_as_text),
    ),
    broken(
        "calls-without-id-lost",
        "A call whose id is empty is not run.",
        "RUN-004 CONC-002 MSG-010",
        _calls_as(_with_ids),
    ),
    broken(
        "one-call-of-lowered-ids",
        "Of calls whose ids differ in case only one is run.",
        "RUN-004 CONC-002 MSG-010",
        _of_near_ids(str.lower),
    ),
    broken(
        "one-call-of-stripped-ids",
        "Of calls whose ids differ in space only one is run.",
        "RUN-004 CONC-002 MSG-010",
        _of_near_ids(str.strip),
    ),
    broken(
        "one-call-of-an-id",
        "Of calls that have one id the first is run.",
        "CONC-014",
        _of_near_ids(str),
    ),
)
