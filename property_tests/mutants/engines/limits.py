"""Engines that are wrong at limits: the last, the long, the empty, the late."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from property_tests.mutants.around import configured
from property_tests.mutants.models import sent
from property_tests.mutants.mutant import Door, Mutant
from property_tests.mutants.patching import (
    Given,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.agent import ChatModelAgentConfig
from refengine.context import Context
from refengine.errors import ModelError
from refengine.messages import Message

DEFAULT: Final = "An agent that is given no max_iterations has twenty."


def _limit(given: int, taken: int) -> Door:
    """Take one max_iterations for another."""

    def changed(config: ChatModelAgentConfig) -> ChatModelAgentConfig:
        below = given < 1 and config.max_iterations < 1
        chosen = below or config.max_iterations == given
        return replace(config, max_iterations=taken) if chosen else config

    return configured(changed)


def _one_more_streamed(right: Right) -> Right:
    def next_iteration(self: Given) -> Given:
        if self.streaming and self.iterations == self.machine.max_iterations:
            self.iterations += 1
            return True
        return right(self)

    return next_iteration


def _later_model_errors(right: Right) -> Right:
    """Take an error of the model for an empty answer, once it had answered."""

    async def ask_model(self: Given, ctx: Context) -> Given:
        try:
            return await right(self, ctx)
        except ModelError:
            if self.iterations == 1:
                raise
            return Message("assistant")

    return ask_model


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "default-of-twenty-five",
        "An agent that is given no max_iterations has 25, as of a graph's steps.",
        "RUN-010",
        _limit(20, 25),
        "langchain-1",
        says=DEFAULT,
    ),
    wrong(
        "zero-is-one",
        "A max_iterations of zero is read as one, and not as the default.",
        "RUN-011",
        _limit(0, 1),
        "eino-0.8",
        says=DEFAULT,
    ),
    broken(
        "streamed-run-passes-its-limit",
        "A streaming run has one iteration more than it may.",
        "RUN-010",
        patch("loop.next_iteration", _one_more_streamed),
    ),
    broken(
        "later-model-errors-swallowed",
        "From the second iteration on an error of the model is an empty answer.",
        "ERR-005",
        patch("loop.ask_model", _later_model_errors),
    ),
    wrong(
        "default-of-twenty-one",
        "A max_iterations of twenty is one of 21.",
        "RUN-010",
        _limit(20, 21),
        "langgraph-prebuilt-1",
        says=DEFAULT,
    ),
    wrong(
        "history-of-two-hundred",
        "The model is sent the last two hundred messages of what hooks left.",
        "MSG-004",
        sent(lambda messages: list(messages)[-200:]),
    ),
)
