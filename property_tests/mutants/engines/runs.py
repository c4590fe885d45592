"""Engines that are wrong about what a run does, how it ends and what it hands back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

from property_tests.mutants.around import handing_back, under
from property_tests.mutants.engines.wrapping import run_twice
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import (
    Given,
    Right,
    broken,
    patch,
    wrong,
)
from refengine.context import Context
from refengine.hooks import HOOKS, AgentHandler
from refengine.messages import History, Message, MessageChunk, ToolCall, join_chunks
from refengine.run import RunResult


def _after_hooks_first(right: Right) -> Right:
    async def before_model(self: Given) -> Given:
        await self.run_phases(self.after, self.ctx)
        return await right(self)

    return before_model


def _first_call_only(right: Right) -> Right:
    def batch_of(self: Given, calls: Sequence[ToolCall], ctx: Context) -> Given:
        return right(self, calls[:1], ctx)

    return batch_of


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


def _direct_completes(left: RunResult) -> RunResult:
    direct = left.status == "returned_directly"
    return replace(left, status="completed") if direct else left


def _shows_the_last(right: Right) -> Right:
    async def observe(self: Given, ctx: Context, value: Given) -> Given:
        return await right(self, ctx, value[-1:])

    return observe


def _with_results(outcome: RunResult) -> RunResult:
    """Make up a result for each call of a run that failed."""
    messages = list(outcome.messages)
    if outcome.status != "error" or not messages:
        return outcome
    made = [Message("tool", "failed", (), c.id) for c in messages[-1].tool_calls]
    return _with(outcome, [*messages, *made])


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


def _with(outcome: RunResult, messages: list[Message]) -> RunResult:
    return replace(outcome, messages=History(messages))


def _all_before_hooks(right: Right) -> Right:
    def hooks_of(handler: Given, spelt: Given) -> Given:
        name, hooks = right(handler, spelt)
        hook = "before_model_rewrite_history"
        return name, {hook: getattr(handler, hook), **hooks}

    return hooks_of


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "after-hooks-before-the-model",
        "After-model hooks also run before the model is called.",
        "RUN-001",
        patch("loop.before_model", _after_hooks_first),
    ),
    broken(
        "first-call-only",
        "Only the first call of a message is run.",
        "RUN-003",
        patch("loop.batch_of", _first_call_only),
    ),
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
        "direct-results-complete",
        "A run that a direct result ends says that it completed.",
        "RUN-015",
        handing_back(_direct_completes),
    ),
    wrong(
        "after-agent-called-at-all",
        "after_agent is called where the profile calls no such hook.",
        "RUN-017",
        under("after_agent", "on_success"),
        under="eino-0.8",
    ),
    broken(
        "after-agent-sees-the-last-message",
        "after_agent sees the last message alone.",
        "RUN-018",
        patch("pipeline.observe", _shows_the_last),
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
        "failed-runs-as-they-began",
        "A run that failed hands back what stood before the first answer.",
        "ERR-034",
        handing_back(_as_it_began),
    ),
    broken(
        "calls-run-twice",
        "Every call of a tool is executed twice; the second result counts.",
        "RUN-004",
        patch("tool.invoke", run_twice),
    ),
    broken(
        "hooks-without-override-called",
        "A handler's before-model hook is called though it does not override it.",
        "RUN-009",
        patch("extensions.hooks_of", _all_before_hooks),
    ),
)
