"""Engines that leave a run wrongly: cancelled, failed, or out of iterations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.given_runs import Events, OtherwiseGivenRun
from property_tests.mutants.around import giving
from property_tests.mutants.mutant import Mutant
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
from refengine.events import AgentEvent
from refengine.run import RunResult
from refengine.testing.doors import EngineRun


def _uncancelled(name: str, instead: Callable[[Given, Context], Given]) -> Patch:
    """Take a cancellation within a step for its end, and go on."""

    def replaced(right: Right) -> Right:
        async def step(self: Given, *ctx: Context) -> Given:
            task = asyncio.current_task()
            try:
                return await right(self, *ctx)
            except asyncio.CancelledError:
                if task is not None:
                    task.uncancel()
                return instead(self, ctx[0] if ctx else self.ctx)

        return step

    return patch(name, replaced)


def _hooks_at_the_end(status: str) -> Callable[[Right], Right]:
    """Run the after-agent hooks of a run that is left, or failed."""

    def replaced(right: Right) -> Right:
        async def leave(self: Given) -> None:
            await right(self)
            if self.status == "error" and self.watch.cancelled == (status != "error"):
                await self.machine.after_agent.observe(self.ctx, self.history)

        return leave

    return replaced


def _failed_on() -> Sequence[Patch]:
    """Count on from a run that failed."""
    failed: dict[int, tuple[Given, int]] = {}

    def starting(right: Right) -> Right:
        def start(self: Given) -> Given:
            _, at = failed.pop(id(self.machine), (None, 0))
            self.iterations = self.iterations or at
            return right(self)

        return start

    def leaving(right: Right) -> Right:
        async def leave(self: Given) -> None:
            await right(self)
            if self.status == "error":
                failed[id(self.machine)] = self.machine, self.iterations

        return leave

    return patch("loop.start", starting), patch("loop.leave", leaving)


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
        "cancellation-ends-a-pass",
        "A cancellation in a before-model hook ends the pass, and the run goes on.",
        "RUN-026",
        _uncancelled("loop.before_model", lambda _, ctx: ctx),
    ),
    broken(
        "after-agent-on-cancel",
        "The after-agent hooks run when a run is cancelled.",
        "RUN-017 RUN-026",
        patch("loop.leave", _hooks_at_the_end("cancelled")),
    ),
    wrong(
        "failed-run-counted-on",
        "A run after one that failed begins with the iterations that that one had.",
        "CONC-008 RUN-016",
        PatchedDoor("failed-run-counted-on", _failed_on),
    ),
    wrong(
        "cancellation-told-as-error",
        "A consumer that cancels a run is told of an error.",
        "ERR-022",
        giving(_CancelledAsError),
    ),
)
