"""Engines that forget something after another attempt, or after an answer.

Each is right until then: a run that goes through shows nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from property_tests.mutants.engines.resuming import resumed
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

Otherwise: TypeAlias = Callable[..., Any]
"""Does a step of the loop in another way: given the right one, the loop, and more."""


def _asked_again(step: str, otherwise: Otherwise) -> Callable[[], Sequence[Patch]]:
    """Break a step of iterations in which the model was asked again."""

    def patches() -> Sequence[Patch]:
        again: list[tuple[Given, int]] = []

        def noting(right: Right) -> Right:
            async def ask(self: Given, ctx: Context) -> Given:
                came, tried = await right(self, ctx), self.attempts
                if came is None or (tried is not None and tried.number > 1):
                    again.append((self, self.iterations))
                return came

            return ask

        def is_meant(loop: Given) -> bool:
            return any(each is loop and at == loop.iterations for each, at in again)

        asking = (
            patch(each, noting) for each in ("loop.ask_model", "loop.open_answer")
        )
        return *asking, _where(is_meant, step, otherwise)

    return patches


def _where(is_meant: Callable[[Given], bool], step: str, otherwise: Otherwise) -> Patch:
    def replaced(right: Right) -> Right:
        def broken_step(self: Given, *given: Given) -> Given:
            if is_meant(self):
                return otherwise(right, self, *given)
            return right(self, *given)

        return broken_step

    return patch(step, replaced)


def _backwards(right: Right, loop: Given, calls: Given, ctx: Context) -> Given:
    return right(loop, calls[::-1], ctx)


def _without_context(right: Right, loop: Given, calls: Given, _: Context) -> Given:
    return right(loop, calls, loop.ctx)


def _nobody(kept: Given) -> None:
    kept.loop.run_path = ("",)


def _one_tool_less(kept: Given) -> None:
    plan = kept.loop.plan
    kept.loop.plan = replace(plan, shown=plan.shown[:-1])


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "calls-backwards-after-retry",
        "Calls of an answer that came at a later attempt are made backwards.",
        "CONC-004",
        PatchedDoor(
            "calls-backwards-after-retry", _asked_again("loop.batch_of", _backwards)
        ),
    ),
    wrong(
        "context-lost-after-retry",
        "What hooks left in the context does not reach the tools after a retry.",
        "CTX-006",
        PatchedDoor(
            "context-lost-after-retry",
            _asked_again("loop.batch_of", _without_context),
        ),
    ),
    broken(
        "agent-unnamed-after-answer",
        "What a run tells once it went on does not say whose it is.",
        "EVT-009",
        resumed(_nobody),
    ),
    broken(
        "tool-lost-after-answer",
        "The model is no longer told of the last tool once a run went on.",
        "TOOL-011",
        resumed(_one_tool_less),
    ),
)
