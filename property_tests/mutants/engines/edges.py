"""Engines that are right until something is long, empty, cut, late or there twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from property_tests.mutants.engines.texts import called, results
from property_tests.mutants.models import sent
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch, wrong
from refengine.messages import Message, ToolCall

PATIENCE: Final = 60
"""Seconds after which a tool is ended, by the engine that ends tools."""


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


def _ended_late(right: Right) -> Right:
    async def invoke(*given: Given) -> Given:
        return await asyncio.wait_for(right(*given), PATIENCE)

    return invoke


def _openings_first(right: Right) -> Right:
    """End the run with the error of a call that could not be opened, if one has it."""

    def error(self: Given) -> Given:
        for call in self.calls:
            if call.error is not None and getattr(call, "fault", None) is None:
                return call.error
        return right(self)

    return error


MUTANTS: Final[tuple[Mutant, ...]] = (
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
        "slow-tools-ended",
        "A tool that takes more than a minute is ended.",
        "CONC-003",
        patch("tool.invoke", _ended_late),
    ),
    broken(
        "opening-errors-first",
        "A call that cannot be opened ends the run before one whose stream broke.",
        "CONC-006",
        patch("batch.error", _openings_first),
    ),
)
