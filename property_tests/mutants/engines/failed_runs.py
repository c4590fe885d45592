"""Engines that hand back another history of a run that failed (ERR)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from property_tests.mutants.around import handing_back
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Given, Right, broken, patch, wrong
from refengine.chain import Pipeline
from refengine.context import Context, at_point
from refengine.messages import History, Message, MessageChunk, as_history, join_chunks
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


def _without_history(outcome: RunResult) -> RunResult:
    """Hand back nothing of a run that failed."""
    return _with(outcome, []) if outcome.status == "error" else outcome


def _as_it_began(outcome: RunResult) -> RunResult:
    """Hand back what stood before the first answer of a run that failed."""
    if outcome.status != "error":
        return outcome
    said = (m.role == "assistant" for m in outcome.messages)
    first = next((at for at, each in enumerate(said) if each), None)
    return _with(outcome, [*outcome.messages][:first])


def _with_half(outcome: RunResult) -> RunResult:
    """Keep what had come of an answer that broke off."""
    told = [each for each in outcome.events if each.kind == "model"]
    if outcome.status != "error" or not told or told[-1].message is not None:
        return outcome
    chunks = [each for each in told[-1].chunks or () if isinstance(each, MessageChunk)]
    half = [join_chunks(chunks)] if chunks else []
    return _with(outcome, [*outcome.messages, *half])


def _phase_by_phase(_: Right) -> Right:
    """Put what each list of hooks left into the history before the next one runs."""

    async def run_phases(self: Given, phases: Given, ctx: Context) -> Context:
        for phase in phases:
            messages: Given = self.history
            if isinstance(phase, Pipeline):
                ctx, messages = await phase.rewrite(ctx, messages)
            else:
                ctx, messages = await phase.rewrite(ctx, messages, self.cell)
            self.history = as_history(messages)
        return at_point(ctx, self.run_path, None, self.locals)

    return run_phases


def _with(outcome: RunResult, messages: list[Message]) -> RunResult:
    return replace(outcome, messages=History(messages))


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "failed-runs-without-last-message",
        "A run that failed hands back its history without the last message.",
        "ERR-034",
        handing_back(_without_last),
    ),
    wrong(
        "failed-runs-with-made-up-results",
        "A run whose calls failed hands back results that nobody gave.",
        "ERR-031",
        handing_back(_with_results),
    ),
    wrong(
        "failed-runs-with-half-answers",
        "A run whose answer broke off hands back what had come of it.",
        "ERR-031",
        handing_back(_with_half),
    ),
    wrong(
        "failed-history-lost",
        "A run that failed hands back no messages.",
        "ERR-034",
        handing_back(_without_history),
    ),
    wrong(
        "failed-runs-as-they-began",
        "A run that failed hands back what stood before the first answer.",
        "ERR-034",
        handing_back(_as_it_began),
    ),
    broken(
        "failed-runs-with-edits-of-their-pass",
        "A run that failed in a handler keeps what struct middlewares edited before.",
        "ERR-031",
        patch("loop.run_phases", _phase_by_phase),
    ),
)
