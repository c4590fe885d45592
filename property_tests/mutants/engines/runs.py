"""Engines that are wrong about what a run does, how it ends and what it hands back."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from property_tests.mutants.around import handing_back, under
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Right,
    wrong,
)
from refengine.hooks import HOOKS, AgentHandler
from refengine.messages import History, Message, MessageChunk, join_chunks
from refengine.run import RunResult


def whole_object(right: Right) -> Right:
    """Take every method of a hook's name, whatever the object's set says."""

    def hooks_of(handler: Given, spelt: Given) -> Given:
        name, hooks = right(handler, spelt)
        if not isinstance(getattr(handler, "hooks", None), (set, frozenset)):
            return name, hooks
        kind = cast("type[object]", type(handler))
        methods = {hook: getattr(handler, hook, None) for hook in sorted(HOOKS)}
        own = {
            hook: method
            for hook, method in methods.items()
            if method is not None
            and getattr(kind, hook, None) is not getattr(AgentHandler, hook)
        }
        return name, {**own, **hooks}

    return hooks_of


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


MUTANTS: Final[tuple[Mutant, ...]] = (
    wrong(
        "loop-without-tools",
        "An agent without tools loops where one model call is asked for.",
        "RUN-006",
        under("without_tools", "loop"),
        under="eino-0.8",
    ),
    wrong(
        "failed-run-without-end",
        "A run that failed hands nothing back.",
        "RUN-014",
        handing_back(_no_end_of_failed),
    ),
    wrong(
        "after-agent-called-at-all",
        "after_agent is called where the profile calls no such hook.",
        "RUN-017",
        under("after_agent", "on_success"),
        under="eino-0.8",
    ),
    wrong(
        "failed-runs-with-half-answers",
        "A run whose answer broke off hands back what had come of it.",
        "ERR-031",
        handing_back(_with_half),
    ),
)
