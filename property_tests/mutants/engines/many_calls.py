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


def _ids_of_the_first(right: Right) -> Right:
    """Tell each call of a message that it has the id of the first."""

    def batch_of(self: Given, *given: Given) -> Given:
        batch = right(self, *given)
        for run in batch.runs[1:]:
            run.scope.call_id = batch.runs[0].call.id
        return batch

    return batch_of


def _thirty_two(calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
    return calls[:32]


def _with_ids(calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
    return [each for each in calls if each.id]


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
    broken(
        "call-id-of-the-first",
        "Each call of a message finds the id of the first.",
        "CTX-010",
        patch("loop.batch_of", _ids_of_the_first),
    ),
    broken(
        "thirty-two-calls-a-message",
        "Of the calls of a message the first 32 are run.",
        "RUN-004 CONC-002",
        _calls_as(_thirty_two),
    ),
    wrong(
        "thirty-two-calls-at-a-time",
        "Of the calls of a message 32 are open at a time.",
        "CONC-001",
        _at_most(32),
    ),
    broken(
        "calls-without-id-lost",
        "A call whose id is empty is not run.",
        "RUN-004 CONC-002 MSG-010",
        _calls_as(_with_ids),
    ),
)
