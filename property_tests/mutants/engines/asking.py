"""Engines that swallow an interrupt, each in another place (INT)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch
from refengine.interrupts import Interrupt
from refengine.messages import Message


def _rewriting_on(right: Right) -> Right:
    """Go on with the history as it was where a hook of a pass asks."""

    async def rewrite(self: Given, ctx: Given, messages: Given, *more: Given) -> Given:
        try:
            return await right(self, ctx, messages, *more)
        except Interrupt:
            return ctx, messages

    return rewrite


def _observed_on(right: Right) -> Right:
    async def observe(self: Given, ctx: Given, value: Given) -> Given:
        try:
            return await right(self, ctx, value)
        except Interrupt:
            return ctx

    return observe


def _answered_for(right: Right) -> Right:
    async def ask_model(self: Given, ctx: Given) -> Given:
        try:
            return await right(self, ctx)
        except Interrupt as stop:
            return Message("assistant", str(stop.payload))

    return ask_model


def _resulting(right: Right) -> Right:
    async def opened(self: Given, ctx: Given, streaming: Given) -> None:
        await right(self, ctx, streaming)
        if self.stopped:
            self.stopped, self.text = False, "stopped"

    return opened


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "interrupts-of-passes-swallowed",
        "A hook before or after the model that asks is passed over.",
        "INT-018",
        patch("pipeline.rewrite", _rewriting_on),
    ),
    broken(
        "interrupts-at-the-end-swallowed",
        "A hook after the agent that asks is passed over.",
        "INT-018",
        patch("pipeline.observe", _observed_on),
    ),
    broken(
        "interrupts-of-model-wrappers-swallowed",
        "What a wrapper around the model asks becomes the answer.",
        "INT-018",
        patch("loop.ask_model", _answered_for),
    ),
    broken(
        "interrupts-of-calls-swallowed",
        "A call that asks has a result that says so, and the run goes on.",
        "INT-018",
        patch("call.open", _resulting),
    ),
)
