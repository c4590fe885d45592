"""Engines whose consumers are given something else than the run was.

The run itself is right, and no function of it is to blame: the events and the result
are changed on their way out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.given_runs import Events, OtherwiseGivenRun
from property_tests.mutants.around import giving, handing_back
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import Given, Patch, Right, broken, patch, wrong
from refengine.events import AgentEvent
from refengine.messages import History, Message, MessageChunk, join_chunks
from refengine.run import RunResult
from refengine.testing.doors import EngineRun


def given_to_consumer(change: Callable[[Given, Events], Events]) -> Patch:
    """Give the consumer other events than the right ones."""

    def replaced(right: Right) -> Right:
        def events(self: Given, loop: Given, saved: Given) -> Events:
            return change(loop, right(self, loop, saved))

        return events

    return patch("run.events", replaced)


def _held(kind: str) -> Patch:
    """Hold events of a kind until the run has come to its next one, or its end."""

    async def held(_: Given, events: Events) -> Events:
        waiting: list[AgentEvent] = []
        try:
            async for event in events:
                while waiting:
                    yield waiting.pop()
                waiting = [event] if event.kind == kind else []
                if not waiting:
                    yield event
        except Exception:
            for each in waiting:
                yield each
            raise
        for each in waiting:
            yield each

    return given_to_consumer(held)


def _no_end_of_failed(left: RunResult) -> RunResult | None:
    return None if left.status == "error" else left


def _with_half(outcome: RunResult) -> RunResult:
    """Keep what had come of an answer that broke off."""
    told = [each for each in outcome.events if each.kind == "model"]
    if outcome.status != "error" or not told or told[-1].message is not None:
        return outcome
    chunks = [each for each in told[-1].chunks or () if isinstance(each, MessageChunk)]
    half = [join_chunks(chunks)] if chunks else []
    return _with(outcome, [*outcome.messages, *half])


def _with(outcome: RunResult, messages: list[Message]) -> RunResult:
    return replace(outcome, messages=History(messages))


def _left(change: Callable[[RunResult], Sequence[Message]]) -> Door:
    """Hand back other messages of a run that waits."""

    def changed(outcome: RunResult) -> RunResult:
        if outcome.status != "interrupted":
            return outcome
        return replace(outcome, messages=History(change(outcome)))

    return handing_back(changed)


def _with_results(outcome: RunResult) -> Sequence[Message]:
    """Put the results of calls that have ended behind the message that made them."""
    calls = outcome.messages[-1].tool_calls if outcome.messages else ()
    told = [each.message for each in outcome.events if each.kind == "tool"]
    ids = {call.id for call in calls}
    found = [each for each in told if each and each.tool_call_id in ids]
    return [*outcome.messages, *found]


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


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "results-taken-late",
        "A result is told when the run has come to its next event.",
        "EVT-017",
        _held("tool"),
    ),
    broken(
        "responses-taken-late",
        "A response is told when the run has come to its next event.",
        "EVT-016",
        _held("model"),
    ),
    wrong(
        "failed-run-without-end",
        "A run that failed hands nothing back.",
        "RUN-014",
        handing_back(_no_end_of_failed),
    ),
    wrong(
        "failed-runs-with-half-answers",
        "A run whose answer broke off hands back what had come of it.",
        "ERR-031",
        handing_back(_with_half),
    ),
    wrong(
        "waiting-with-results",
        "A run that waits hands back results of calls beside the one that asks.",
        "INT-020",
        _left(_with_results),
    ),
    wrong(
        "cancellation-told-as-error",
        "A consumer that cancels a run is told of an error.",
        "ERR-022",
        giving(_CancelledAsError),
    ),
)
