"""Engines that are wrong at limits: the last, the long, the empty, the late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.around import configured
from property_tests.mutants.engines.messages import called, results
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
from refengine.chain import Pipeline
from refengine.context import Context
from refengine.errors import ModelError, ToolError
from refengine.messages import Message, ToolCall

DEFAULT: Final = "An agent that is given no max_iterations has twenty."
FEW_HOOKS: Final = 256
"""So many hooks of a pass hand their context on, in an engine that counts in a byte."""


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


def _not_for_direct(right: Right) -> Right:
    """Leave the after-agent hooks out where a direct call ends the run."""

    def settle(self: Given, batch: Given) -> Given:
        direct = right(self, batch)
        if direct:
            self.machine = replace(self.machine, after_agent=Pipeline(()))
        return direct

    return settle


def _direct_at_the_limit(right: Right) -> Right:
    """Take no direct result in the last iteration."""

    def settle(self: Given, batch: Given) -> Given:
        direct = right(self, batch)
        return direct and self.iterations < self.machine.max_iterations

    return settle


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


def _first_is_to_blame(right: Right) -> Right:
    """Blame the first call of a message for what any of them raised."""

    def error(self: Given) -> Given:
        found = right(self)
        first = self.calls[0]
        if not isinstance(found, ToolError) or first.error is found:
            return found
        made = ToolError(first.call.name, first.call.id, found.cause)
        made.__cause__ = found.cause
        return made

    return error


def _valid(call: ToolCall) -> ToolCall:
    text = call.arguments.encode("utf-8", "replace").decode()
    return replace(call, arguments=text)


def _filled_in(right: Right) -> Right:
    """Give calls of the given history that have no arguments empty ones."""

    def whole(message: Message) -> Message:
        calls = [replace(c, arguments=c.arguments or "{}") for c in message.tool_calls]
        return replace(message, tool_calls=tuple(calls))

    def run(self: Given, given: Sequence[Message], *more: Given, **how: Given) -> Given:
        return right(self, [*map(whole, given)], *more, **how)

    return run


def _openings_first(right: Right) -> Right:
    """End the run with the error of a call that could not be opened, if one has it."""

    def error(self: Given) -> Given:
        for call in self.calls:
            if call.error is not None and getattr(call, "fault", None) is None:
                return call.error
        return right(self)

    return error


def _in_a_byte(right: Right) -> Right:
    def layer(self: Given, of: Given, at: int, inner: Given) -> Given:
        return right(self, of, at & 255, inner)

    return layer


def _few_contexts(right: Right) -> Right:
    async def rewrite(self: Given, ctx: Given, messages: Given) -> Given:
        left, history = await right(self, ctx, messages)
        return (left if len(self) <= FEW_HOOKS else ctx), history

    return rewrite


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "default-of-twelve",
        "An agent that is given no max_iterations has twelve.",
        "RUN-011",
        _limit(20, 12),
        says=DEFAULT,
    ),
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
    wrong(
        "zero-is-endless",
        "A max_iterations of zero or less stands for no limit.",
        "RUN-010",
        _limit(0, 100),
        "eino-0.9",
        says=DEFAULT,
    ),
    broken(
        "streamed-run-passes-its-limit",
        "A streaming run has one iteration more than it may.",
        "RUN-010",
        patch("loop.next_iteration", _one_more_streamed),
    ),
    broken(
        "no-after-agent-for-direct",
        "The after-agent hooks do not run where a direct call ends the run.",
        "RUN-017",
        patch("loop.settle", _not_for_direct),
    ),
    broken(
        "direct-result-at-the-limit",
        "A direct call in the last iteration does not end the run.",
        "RD-001",
        patch("loop.settle", _direct_at_the_limit),
    ),
    broken(
        "later-model-errors-swallowed",
        "From the second iteration on an error of the model is an empty answer.",
        "ERR-005",
        patch("loop.ask_model", _later_model_errors),
    ),
    broken(
        "first-call-to-blame",
        "What any call of a message raised is told as an error of the first.",
        "ERR-007",
        patch("batch.error", _first_is_to_blame),
    ),
    wrong(
        "default-of-nineteen",
        "A max_iterations of twenty is one of nineteen.",
        "RUN-011",
        _limit(20, 19),
        "eino-0.9",
        says=DEFAULT,
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
    broken(
        "long-results-cut",
        "A result is kept up to its 16,384th character.",
        "MSG-010",
        results(lambda text: text[:16384]),
    ),
    broken(
        "half-characters-replaced",
        "A half of a character in a call's arguments becomes a question mark.",
        "SURF-001 RUN-004",
        called(_valid),
    ),
    broken(
        "given-arguments-filled-in",
        "Calls without arguments in the given history get empty ones.",
        "MSG-002",
        patch("agent.run", _filled_in),
    ),
    broken(
        "opening-errors-first",
        "A call that cannot be opened ends the run before one whose stream broke.",
        "CONC-006",
        patch("batch.error", _openings_first),
    ),
    broken(
        "layers-in-a-byte",
        "A wrapper behind 255 others is taken for one of the first.",
        "ERR-023",
        patch("onion.layer", _in_a_byte),
    ),
    broken(
        "context-of-few-hooks",
        "What more than 256 hooks of a pass leave in the context is lost.",
        "CTX-003",
        patch("pipeline.rewrite", _few_contexts),
    ),
)
