"""Engines that are wrong about how a run that was cancelled is left (RUN, ERR)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from property_tests.given_runs import Events, OtherwiseGivenRun
from property_tests.mutants.around import giving, handing_back
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch, wrong
from refengine.context import Context
from refengine.events import AgentEvent
from refengine.messages import History, Message, join_chunks
from refengine.run import RunResult
from refengine.testing.doors import EngineRun


def _completed(left: RunResult) -> RunResult:
    return replace(left, status="completed") if left.status == "cancelled" else left


class _CancelledAsError(OtherwiseGivenRun):
    """A run that gives a cancellation as the error that ended it."""

    def __init__(self, run: EngineRun) -> None:
        super().__init__(run)
        self._error: AgentEvent | None = None

    async def events(self, given: Events) -> Events:
        path: tuple[str, ...] = ()
        try:
            async for event in given:
                path = event.run_path
                yield event
        except asyncio.CancelledError:
            error = RuntimeError("cancelled")
            self._error = AgentEvent("error", path, error=error)
            yield self._error

    def result(self, outcome: RunResult) -> RunResult | None:
        if self._error is None:
            return outcome
        events = (*outcome.events, self._error)
        return replace(outcome, status="error", events=events)


def _dangling(_: Right) -> Right:
    def left_whole(self: Given) -> Given:
        return self.history

    return left_whole


def _unmarked(right: Right) -> Right:
    """Leave results that do not say that they are none."""

    def left_whole(self: Given) -> History:
        found: History = right(self)
        bare = [
            Message("tool", each.content, tool_call_id=each.tool_call_id)
            if each.role == "tool"
            else each
            for each in found
        ]
        return History(bare)

    return left_whole


def _forgotten(left: RunResult) -> RunResult:
    """Hand back nothing of a run that was cancelled."""
    cancelled = left.status == "cancelled"
    return replace(left, messages=History()) if cancelled else left


def _as_answered(left: RunResult) -> RunResult:
    """Take the last thing that was said before a run was cancelled for its answer."""
    said = [each for each in left.messages if each.role == "assistant"]
    cancelled = left.status == "cancelled" and said
    return replace(left, answer=said[-1]) if cancelled else left


def _with_half(right: Right) -> Right:
    """Keep what had come of an answer."""

    def left_whole(self: Given) -> History:
        found: History = right(self)
        live = self.live
        if live is None or live.whole or not live.chunks:
            return found
        return found.appended(join_chunks(live.chunks))

    return left_whole


def _none_ended(right: Right) -> Right:
    """Say of each call of the last message that it did not end."""

    def left_whole(self: Given) -> History:
        found: History = right(self)
        if self.batch is None:
            return found
        texts = [
            replace(each, content="cancelled", extra={"is_error": True})
            for each in found.since(len(self.history))
        ]
        return History((*self.history, *texts))

    return left_whole


def _without_last_part(right: Right) -> Right:
    """Leave out the message whose calls were cancelled, with its results."""

    def left_whole(self: Given) -> History:
        found: History = right(self)
        return found if self.batch is None else History([*self.history][:-1])

    return left_whole


def _left_open(_: Right) -> Right:
    """Let streams be where they are, as somebody else's to close."""
    held: list[Given] = []

    async def close(self: Given) -> None:
        held.append(self)

    return close


def _abandoned(right: Right) -> Right:
    """Leave calls running, for whoever wants them."""

    async def leave(self: Given) -> None:
        batch, self.batch = self.batch, None
        await right(self)
        self.batch = batch
        if batch is not None:
            self.events.extend(batch.snapshots())

    return leave


def _swallowed(right: Right) -> Right:
    """Take a cancellation inside a call for the end of that call."""

    async def opened(self: Given, ctx: Context, streaming: bool) -> None:
        task = asyncio.current_task()
        try:
            await right(self, ctx, streaming)
        except asyncio.CancelledError:
            if task is not None:
                task.uncancel()
            self.text = "cancelled"

    return opened


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "cancelled-as-completed",
        "A run that was cancelled has the status completed.",
        "RUN-022",
        handing_back(_completed),
    ),
    wrong(
        "cancellation-told-as-error",
        "A consumer that cancels a run is told of an error.",
        "ERR-022",
        giving(_CancelledAsError),
    ),
    broken(
        "dangling-call-left",
        "A cancelled run leaves a history in which a call has no result.",
        "RUN-023",
        patch("loop.left_whole", _dangling),
    ),
    broken(
        "no-result-unmarked",
        "The result of a call that was cancelled looks like any other.",
        "RUN-023",
        patch("loop.left_whole", _unmarked),
    ),
    wrong(
        "cancelled-history-lost",
        "A cancelled run hands back no messages.",
        "RUN-027",
        handing_back(_forgotten),
    ),
    broken(
        "cancelled-with-half-answer",
        "A cancelled run keeps what had come of an answer.",
        "RUN-027",
        patch("loop.left_whole", _with_half),
    ),
    broken(
        "cancelled-without-ended-results",
        "A cancelled run says of calls that had ended that they did not.",
        "RUN-027",
        patch("loop.left_whole", _none_ended),
    ),
    broken(
        "cancelled-without-last-message",
        "A run that is cancelled in its calls forgets who asked for them.",
        "RUN-027",
        patch("loop.left_whole", _without_last_part),
    ),
    wrong(
        "cancelled-with-an-answer",
        "What was said last before a run was cancelled is its answer.",
        "RUN-027",
        handing_back(_as_answered),
    ),
    broken(
        "cancelled-streams-left-open",
        "Streams of a run that was cancelled are left open.",
        "RUN-024",
        patch("stream.close", _left_open),
    ),
    broken(
        "calls-abandoned",
        "Calls of a run that was cancelled are left running, and their wrappers too.",
        "RUN-025",
        patch("loop.leave", _abandoned),
    ),
    broken(
        "cancellation-swallowed",
        "A cancellation inside a call ends that call, and the run goes on.",
        "RUN-026",
        patch("call.open", _swallowed),
    ),
)
