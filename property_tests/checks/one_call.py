"""WRAP: what a wrapper does to a call is for this call, and for no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.passages import PassageStep, origin, passages
from property_tests.checks.specs import (
    writes_options,
    written_by,
)
from property_tests.view import HookView, RunView
from refengine.messages import Json
from refengine.testing.scenario import AgentSpec, ModelWrapSpec, Scenario, ToolWrapSpec
from refengine.testing.trace import Observation

MODEL: Final = "a model call has the run's options, and those its own wrappers wrote"
TOOL: Final = "a tool call has the run's options, and those its own wrappers wrote"


def own_options(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that options which a wrapper wrote reach what it calls, and nothing else."""
    for run in case.played.runs:
        if writes_options(run.agent):
            yield from _of_model(case, run)
            yield from _of_tools(case, run)


def _of_model(case: PlayedWorld, run: RunView) -> Iterator[Decision]:
    once = any(
        h.wrap_model and h.wrap_model.options_on_call for h in run.agent.handlers
    )
    if once and not _counts_through(case.scenario):
        return
    before = [e for e in case.played.runs if e.number < run.number]
    same = [e for e in before if e.spec.agent == run.spec.agent]
    times = Counter(_first(run.agent, hook) for e in same for hook in _around_model(e))
    entered: dict[object, ModelWrapSpec] = {}
    for each in run.entries:
        if _wraps_model(each):
            hook = HookView(each)
            if hook.position in entered:
                entered = {}
            first = _first(run.agent, hook)
            times[first] += 1
            entered[hook.position] = _at(_model_wrap(run.agent, hook), times[first])
        elif each.kind == "model_request":
            yield _decision(MODEL, run, [*entered.values()], each)
            entered = {}


def _counts_through(scenario: Scenario) -> bool:
    """Tell whether every wrapper that is entered comes to count it, and once."""
    return not scenario.keeps and all(run.cancel is None for run in scenario.runs)


def _around_model(run: RunView) -> Iterator[HookView]:
    return (HookView(each) for each in run.entries if _wraps_model(each))


def _wraps_model(seen: Observation) -> bool:
    return seen.kind == "hook_enter" and seen.data["hook"] == "wrap_model"


def _first(agent: AgentSpec, hook: HookView) -> int:
    """Return the first position of the object that a hook is of."""
    return origin(agent, hook.position)[0]


def _at(wrap: ModelWrapSpec, nth: int) -> ModelWrapSpec:
    """Return what a wrapper does the nth time, as far as options go."""
    if wrap.options_on_call in (None, nth):
        return wrap
    return ModelWrapSpec()


def _of_tools(case: PlayedWorld, run: RunView) -> Iterator[Decision]:
    answered = case.profile.unknown_tool == "answered"
    for now in run.iterations:
        for _, name, way in passages(run, now, answered=answered):
            for start, step in way.starts:
                around = [*_outwards(step)][::-1]
                wrote = [each.layer.acting(name) for each in around]
                yield _decision(TOOL, run, wrote, start)


def _outwards(step: PassageStep | None) -> Iterator[PassageStep]:
    while step is not None:
        yield step
        step = step.outer


def _decision(
    claim: str,
    run: RunView,
    wrote: Sequence[ModelWrapSpec | ToolWrapSpec],
    at: Observation,
) -> Decision:
    expected: Mapping[str, Json] = run.spec.options
    for each in wrote:
        expected = written_by(each, expected)
    return Decision(claim, expected, at.data["options"], at)


def _model_wrap(agent: AgentSpec, hook: HookView) -> ModelWrapSpec:
    return origin(agent, hook.position)[1].wrap_model or ModelWrapSpec()


def _writes_somewhere(scenario: Scenario) -> bool:
    return any(map(writes_options, scenario.all_agents))


CHECKS: Final = (
    Check(
        clause="WRAP-025",
        decide=own_options,
        needs=frozenset(("run_options",)),
        any_of=frozenset(
            (
                *("wrap_model", "wrap_tool", "wrap_streamable"),
                *("struct_tool_wrappers", "tool_call_middlewares"),
            )
        ),
        meant=_writes_somewhere,
    ),
)
