"""Engines that are wrong about what a run does, and how it ends (RUN)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

from property_tests.given_runs import Events
from property_tests.mutants.around import handing_back, under
from property_tests.mutants.engines import lists
from property_tests.mutants.engines.events import given_to_consumer
from property_tests.mutants.engines.wrapping import run_twice
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
from refengine.events import AgentEvent
from refengine.hooks import HOOKS, AgentHandler
from refengine.messages import ToolCall
from refengine.run import RunResult


def _after_hooks_first(right: Right) -> Right:
    async def before_model(self: Given) -> Given:
        await self.run_phases(self.after, self.ctx)
        return await right(self)

    return before_model


class _EarlyBatch:
    """A batch that has run already; its events come when they are asked for."""

    def __init__(self, batch: Given, events: list[AgentEvent]) -> None:
        self._batch = batch
        self._events = events

    async def next_event(self) -> AgentEvent | None:
        return self._events.pop(0) if self._events else None

    def __getattr__(self, name: str) -> Given:
        return getattr(self._batch, name)


def _tools_first() -> Sequence[Patch]:
    """Run the calls of an answer before the after-hooks see it."""
    batches: dict[Given, _EarlyBatch] = {}

    def after(right: Right) -> Right:
        async def after_model(self: Given, ctx: Context) -> Given:
            last = self.history.last()
            if last is not None and last.tool_calls:
                batch = self.batch_of(last.tool_calls, ctx)
                events: list[AgentEvent] = []
                while (event := await batch.next_event()) is not None:
                    events.append(event)
                batches[self] = _EarlyBatch(batch, events)
            return await right(self, ctx)

        return after_model

    def of(right: Right) -> Right:
        def batch_of(self: Given, calls: Given, ctx: Context) -> Given:
            return batches.pop(self, None) or right(self, calls, ctx)

        return batch_of

    return patch("loop.after_model", after), patch("loop.batch_of", of)


def _asked_twice(right: Right) -> Right:
    async def ask_model(self: Given, ctx: Context) -> Given:
        await right(self, ctx)
        return await right(self, ctx)

    return ask_model


def _first_call_only(right: Right) -> Right:
    def batch_of(self: Given, calls: Sequence[ToolCall], ctx: Context) -> Given:
        return right(self, calls[:1], ctx)

    return batch_of


def _all_before_hooks(right: Right) -> Right:
    def hooks_of(handler: Given, spelt: Given) -> Given:
        name, hooks = right(handler, spelt)
        hook = "before_model_rewrite_history"
        return name, {hook: getattr(handler, hook), **hooks}

    return hooks_of


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


def _one_more(right: Right) -> Right:
    def next_iteration(self: Given) -> Given:
        if self.iterations == self.machine.max_iterations:
            self.iterations += 1
            return True
        return right(self)

    return next_iteration


def _ten_at_most(right: Right) -> Right:
    def next_iteration(self: Given) -> Given:
        most = min(10, self.machine.max_iterations)
        self.machine = replace(self.machine, max_iterations=most)
        return right(self)

    return next_iteration


def _no_answer(right: Right) -> Right:
    def next_iteration(self: Given) -> Given:
        found = right(self)
        self.answer = self.answer if found else None
        return found

    return next_iteration


def _no_end_of_failed(left: RunResult) -> RunResult | None:
    return None if left.status == "error" else left


def _direct_completes(left: RunResult) -> RunResult:
    direct = left.status == "returned_directly"
    return replace(left, status="completed") if direct else left


async def _always_after_agent(loop: Given, events: Events) -> Events:
    async for event in events:
        yield event
    if loop.status == "max_iterations":
        await loop.machine.after_agent.observe(loop.ctx, loop.history)


def _ended_anyhow(right: Right) -> Right:
    """Call after_agent hooks of a run that did not succeed, too."""

    async def leave(self: Given) -> None:
        if self.status not in {"completed", "returned_directly"}:
            await self.machine.after_agent.observe(self.ctx, self.history)
        await right(self)

    return leave


def _shows_the_last(right: Right) -> Right:
    async def observe(self: Given, ctx: Context, value: Given) -> Given:
        return await right(self, ctx, value[-1:])

    return observe


def _counts_nothing(outcome: RunResult) -> RunResult:
    return replace(outcome, iterations=0) if outcome.status == "error" else outcome


MUTANTS: Final[tuple[Mutant, ...]] = (
    broken(
        "after-hooks-before-the-model",
        "After-model hooks also run before the model is called.",
        "RUN-001",
        patch("loop.before_model", _after_hooks_first),
    ),
    wrong(
        "tools-before-after-hooks",
        "The calls of an answer run before the after-model hooks see it.",
        "RUN-001",
        PatchedDoor("tools-before-after-hooks", _tools_first),
    ),
    broken(
        "model-called-twice",
        "The model is called twice an iteration; the second answer counts.",
        "RUN-002",
        patch("loop.ask_model", _asked_twice),
    ),
    broken(
        "first-call-only",
        "Only the first call of a message is run.",
        "RUN-003",
        patch("loop.batch_of", _first_call_only),
    ),
    broken(
        "calls-run-twice",
        "Every call of a tool is executed twice; the second result counts.",
        "RUN-004",
        patch("tool.invoke", run_twice),
    ),
    wrong(
        "loop-without-tools",
        "An agent without tools loops where one model call is asked for.",
        "RUN-006",
        under("without_tools", "loop"),
        under="eino-0.8",
    ),
    broken(
        "hooks-without-override-called",
        "A handler's before-model hook is called though it does not override it.",
        "RUN-009",
        patch("extensions.hooks_of", _all_before_hooks),
    ),
    broken(
        "absent-hooks-called",
        "Every method of a hook's name is called, whatever the object's set says.",
        "RUN-009",
        patch("extensions.hooks_of", whole_object),
    ),
    broken(
        "run-passes-its-limit",
        "A run has one iteration more than it may.",
        "RUN-010",
        patch("loop.next_iteration", _one_more),
    ),
    wrong(
        "exhaustion-raises",
        "A run that used up its iterations fails.",
        "RUN-011",
        under("exhaustion", "error"),
    ),
    broken(
        "never-more-than-ten-iterations",
        "A run ends after ten iterations, whatever max_iterations says.",
        "RUN-011",
        patch("loop.next_iteration", _ten_at_most),
    ),
    broken(
        "no-answer-at-the-limit",
        "A run that used up its iterations has no answer.",
        "RUN-012",
        patch("loop.next_iteration", _no_answer),
    ),
    wrong(
        "any-limit-accepted",
        "max_iterations below one stands for the default.",
        "RUN-013",
        under("iterations_below_one", "default"),
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
        "failed-run-counts-nothing",
        "A run that failed tells that it had no iterations.",
        "RUN-028",
        handing_back(_counts_nothing),
    ),
    wrong(
        "iterations-counted-from-zero",
        "The result tells one iteration too few.",
        "RUN-016",
        handing_back(lambda left: replace(left, iterations=left.iterations - 1)),
    ),
    broken(
        "after-agent-at-the-limit",
        "after_agent is called for a run that used up its iterations.",
        "RUN-017",
        given_to_consumer(_always_after_agent),
    ),
    broken(
        "after-agent-last-missing",
        "Of several after_agent hooks the last one is never called.",
        "RUN-017",
        lists.hooks(lists.but_last, "after_agent"),
    ),
    broken(
        "after-agent-anyhow",
        "The after_agent hooks are also called for a run that did not succeed.",
        "RUN-017",
        patch("loop.leave", _ended_anyhow),
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
)
