"""Engines that are wrong about what a run does, and how it ends (RUN)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from property_tests.mutants.engines import order_turning as turning
from property_tests.mutants.engines.order_faults import ended_anyhow, tools_first
from property_tests.mutants.mutant import Mutant
from property_tests.mutants.patching import Patch, patched
from refengine import agent as agents
from refengine import extensions, tool_onion
from refengine import hooks as hooks_module
from refengine.chain import Pipeline
from refengine.compiled import CompiledAgent
from refengine.context import Context
from refengine.errors import MaxIterationsExceededError
from refengine.events import AgentEvent
from refengine.loop import Loop
from refengine.messages import Message, ToolCall
from refengine.profile import Profile
from refengine.run import Run
from refengine.tool_calls import CallBatch
from refengine.tools import ToolCallInput

Right: TypeAlias = Callable[..., Any]


def _after_hooks_first(right: Right) -> Right:
    async def before(self: Loop) -> Context:
        await self.run_phases(self.machine.after, self.ctx)
        return cast("Context", await right(self))

    return before


def _asked_twice(right: Right) -> Right:
    async def answer(self: Loop, ctx: Context) -> Message:
        await right(self, ctx)
        return cast("Message", await right(self, ctx))

    return answer


def _first_call_only(right: Right) -> Right:
    def batch_of(self: Loop, calls: Sequence[ToolCall], ctx: Context) -> CallBatch:
        return cast("CallBatch", right(self, calls[:1], ctx))

    return batch_of


def _run_twice(right: Right) -> Right:
    async def invoke(ctx: Context, value: ToolCallInput) -> object:
        await right(ctx, value)
        return await right(ctx, value)

    return invoke


def _always_a_loop(_: Right) -> object:
    return property(lambda _: False)


def _all_before_hooks(right: Right) -> Right:
    def hooks_of(handler: Any, spelt: Any) -> object:  # noqa: ANN401  # its own
        name, hooks = right(handler, spelt)
        hook = "before_model_rewrite_history"
        return name, {hook: getattr(handler, hook), **hooks}

    return hooks_of


def _one_more(right: Right) -> Right:
    def following(self: Loop) -> bool:
        if self.iterations == self.machine.max_iterations:
            self.iterations += 1
            return True
        return cast("bool", right(self))

    return following


def _exhaustion_raises(right: Right) -> Right:
    def following(self: Loop) -> bool:
        if right(self):
            return True
        raise MaxIterationsExceededError(self.machine.max_iterations)

    return following


def _ten_at_most(right: Right) -> Right:
    def following(self: Loop) -> bool:
        most = min(10, self.machine.max_iterations)
        self.machine = replace(self.machine, max_iterations=most)
        return cast("bool", right(self))

    return following


def _no_answer(right: Right) -> Right:
    def following(self: Loop) -> bool:
        found = cast("bool", right(self))
        self.answer = self.answer if found else None
        return found

    return following


def _no_lower_limit(_: Right) -> Right:
    def limit(_given: object, _profile: object) -> int:
        return agents.DEFAULT_MAX_ITERATIONS

    return limit


def _no_end_of_failed(right: Right) -> Right:
    def end(self: Run, *args: Any) -> None:  # noqa: ANN401  # its own
        if self.error is None:
            right(self, *args)

    return end


def _at_end(change: Callable[[Loop], None]) -> Patch:
    """Change what a run hands back."""

    def made(right: Right) -> Right:
        def end(self: Run, *args: Any) -> None:  # noqa: ANN401  # its own
            if self._loop is not None:
                change(self._loop)
            right(self, *args)

        return end

    return Patch(Run, "_end", made)


def _completed(loop: Loop) -> None:
    if loop.status == "returned_directly":
        loop.status = "completed"


def _counted_from_zero(loop: Loop) -> None:
    loop.iterations -= 1


def _always_after_agent(right: Right) -> Right:
    async def run(self: Loop) -> AsyncIterator[AgentEvent]:
        async for event in right(self):
            yield event
        if self.status == "max_iterations":
            await self.machine.after_agent.observe(self.ctx, self.history)

    return run


def _after_agent_in_any_profile(right: Right) -> Right:
    def compile_(config: object, profile: Profile, *args: Any) -> object:  # noqa: ANN401  # its own
        return right(config, replace(profile, after_agent="on_success"), *args)

    return compile_


def _shows_the_last(right: Right) -> Right:
    async def observe(self: Pipeline, ctx: Context, value: Any) -> Context:  # noqa: ANN401  # its own
        return cast("Context", await right(self, ctx, value[-1:]))

    return observe


def _mutant(id_: str, about: str, clause: str, *patches: Patch, **more: Any) -> Mutant:  # noqa: ANN401  # a mutant's fields
    wrong = patched(id_.replace("-", " "), *patches)
    return Mutant(id=id_, about=about, violates=(clause,), wrong=wrong, **more)


_TOOLS_FIRST: Final = tools_first({})

MUTANTS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "after-hooks-before-the-model",
        "After-model hooks also run before the model is called.",
        "RUN-001",
        Patch(Loop, "before_model", _after_hooks_first),
    ),
    _mutant(
        "tools-before-after-hooks",
        "The calls of an answer run before the after-model hooks see it.",
        "RUN-001",
        Patch(Loop, "run_phases", _TOOLS_FIRST[0]),
        Patch(Loop, "batch_of", _TOOLS_FIRST[1]),
    ),
    _mutant(
        "model-called-twice",
        "The model is called twice an iteration; the second answer counts.",
        "RUN-002",
        Patch(Loop, "ask_model", _asked_twice),
    ),
    _mutant(
        "first-call-only",
        "Only the first call of a message is run.",
        "RUN-003",
        Patch(Loop, "batch_of", _first_call_only),
    ),
    _mutant(
        "calls-run-twice",
        "Every call of a tool is executed twice; the second result counts.",
        "RUN-004",
        Patch(tool_onion, "invoke_tool", _run_twice),
    ),
    _mutant(
        "loop-without-tools",
        "An agent without tools loops where one model call is asked for.",
        "RUN-006",
        Patch(CompiledAgent, "calls_once", cast("Any", _always_a_loop)),
        under="eino-0.8",
    ),
    _mutant(
        "hooks-without-override-called",
        "A handler's before-model hook is called though it does not override it.",
        "RUN-009",
        Patch(extensions, "hooks_of", _all_before_hooks),
    ),
    _mutant(
        "absent-hooks-called",
        "Every method of a hook's name is called, whatever the object's set says.",
        "RUN-009",
        Patch(hooks_module, "_declared", turning.whole_object),
    ),
    _mutant(
        "run-passes-its-limit",
        "A run has one iteration more than it may.",
        "RUN-010",
        Patch(Loop, "next_iteration", _one_more),
    ),
    _mutant(
        "exhaustion-raises",
        "A run that used up its iterations fails.",
        "RUN-011",
        Patch(Loop, "next_iteration", _exhaustion_raises),
    ),
    _mutant(
        "never-more-than-ten-iterations",
        "A run ends after ten iterations, whatever max_iterations says.",
        "RUN-011",
        Patch(Loop, "next_iteration", _ten_at_most),
    ),
    _mutant(
        "no-answer-at-the-limit",
        "A run that used up its iterations has no answer.",
        "RUN-012",
        Patch(Loop, "next_iteration", _no_answer),
    ),
    _mutant(
        "any-limit-accepted",
        "max_iterations below one stands for the default.",
        "RUN-013",
        Patch(agents, "_limit", _no_lower_limit),
    ),
    _mutant(
        "failed-run-without-end",
        "A run that failed hands nothing back.",
        "RUN-014",
        Patch(Run, "_end", _no_end_of_failed),
    ),
    _mutant(
        "direct-results-complete",
        "A run that a direct result ends says that it completed.",
        "RUN-015",
        _at_end(_completed),
    ),
    _mutant(
        "iterations-counted-from-zero",
        "The result tells one iteration too few.",
        "RUN-016",
        _at_end(_counted_from_zero),
    ),
    _mutant(
        "after-agent-at-the-limit",
        "after_agent is called for a run that used up its iterations.",
        "RUN-017",
        Patch(Loop, "run", _always_after_agent),
    ),
    _mutant(
        "after-agent-last-missing",
        "Of several after_agent hooks the last one is never called.",
        "RUN-017",
        turning.hooks("after_agent", turning.but_last),
    ),
    _mutant(
        "after-agent-anyhow",
        "The after_agent hooks are also called for a run that did not succeed.",
        "RUN-017",
        Patch(Loop, "leave", ended_anyhow),
    ),
    _mutant(
        "after-agent-called-at-all",
        "after_agent is called where the profile calls no such hook.",
        "RUN-017",
        Patch(agents, "compile_agent", _after_agent_in_any_profile),
        under="eino-0.8",
    ),
    _mutant(
        "after-agent-sees-the-last-message",
        "after_agent sees the last message alone.",
        "RUN-018",
        Patch(Pipeline, "observe", _shows_the_last),
    ),
)
