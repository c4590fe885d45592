"""Engines that leave a run wrongly: cancelled, failed, or out of iterations (RUN)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import handing_back
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
from refengine.run import RunResult


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


def _uncounted(status: str) -> Door:
    """Count only the iterations of a run that came to their end."""

    def counted(outcome: RunResult) -> RunResult:
        if outcome.status != status or not outcome.iterations:
            return outcome
        return replace(outcome, iterations=outcome.iterations - 1)

    return handing_back(counted)


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
        "cancelled-iterations-uncounted",
        "The iteration in which a run was cancelled is not counted.",
        "RUN-016",
        _uncounted("cancelled"),
    ),
    wrong(
        "failed-iterations-uncounted",
        "The iteration in which a run failed is not counted.",
        "RUN-028",
        _uncounted("error"),
    ),
    wrong(
        "waiting-iterations-uncounted",
        "The iteration in which a run was interrupted is not counted.",
        "RUN-016 INT-019",
        _uncounted("interrupted"),
    ),
    wrong(
        "failed-run-counted-on",
        "A run after one that failed begins with the iterations that that one had.",
        "CONC-008 RUN-016",
        PatchedDoor("failed-run-counted-on", _failed_on),
    ),
)
