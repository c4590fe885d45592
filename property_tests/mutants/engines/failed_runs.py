"""Engines that hand back another history of a run that failed (ERR)."""

from __future__ import annotations

from typing import Final

from property_tests.mutants.around import handing_back
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import wrong
from refengine.messages import History, Message
from refengine.run import RunResult


def _without_last(outcome: RunResult) -> RunResult:
    """Leave out the last message of a run that failed."""
    if outcome.status != "error":
        return outcome
    kept = list(outcome.messages)[:-1]
    return _with(outcome, kept)


def _with_results(outcome: RunResult) -> RunResult:
    """Make up a result for each call of a run that failed."""
    messages = list(outcome.messages)
    if outcome.status != "error" or not messages:
        return outcome
    made = [Message("tool", "failed", (), c.id) for c in messages[-1].tool_calls]
    return _with(outcome, [*messages, *made])


def _with(outcome: RunResult, messages: list[Message]) -> RunResult:
    return RunResult(
        outcome.status,
        History(messages),
        outcome.answer,
        outcome.events,
        outcome.iterations,
        outcome.first,
        outcome.interrupts,
    )


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "failed-runs-without-last-message",
        "A run that failed hands back its history without the last message.",
        "ERR-031",
        handing_back(_without_last),
    ),
    wrong(
        "failed-runs-with-made-up-results",
        "A run whose calls failed hands back results that nobody gave.",
        "ERR-031",
        handing_back(_with_results),
    ),
)
