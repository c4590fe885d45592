"""TOOL, WRAP: what a wrapper does to a call is for this call, and for no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.executing import CalledBatch, every_batch
from property_tests.checks.passages import PassageStep, calls_next, origin, passages
from property_tests.checks.specs import (
    keeps_ids,
    tool_wraps,
    writes_options,
    written_by,
)
from property_tests.view import HookView, Iteration, RunView
from refengine.messages import Json
from refengine.testing.scenario import AgentSpec, ModelWrapSpec, Scenario, ToolWrapSpec
from refengine.testing.trace import Observation

OFFERED: Final = "a request offers what its wrappers were given and did not take out"
WHOLE: Final = "the outermost wrapper is given all tools, whatever was taken out before"
RUNS: Final = "a tool that was taken out of an earlier request runs when it is called"
MODEL: Final = "a model call has the run's options, and those its own wrappers wrote"
TOOL: Final = "a tool call has the run's options, and those its own wrappers wrote"


def hidden_once(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a tool taken out of one request is there again in the next."""
    for run in case.played.runs:
        times: Counter[int] = Counter(_earlier(case, run))
        first: object = None
        for now in run.iterations:
            offered = _names(now)
            for hook in now.model_wraps:
                times[hook.position] += 1
            if not now.model_wraps or offered is None or run.agent.retry is not None:
                continue
            outermost = now.model_wraps[0]
            given = cast("list[str]", outermost.seen["tools"])
            first = given if first is None else first
            yield Decision(WHOLE, first, given, outermost.enter)
            taken = _taken(run.agent, now, times)
            left = [name for name in given if name not in taken]
            yield Decision(OFFERED, left, offered, now.request)
    for batch in every_batch(case.played):
        yield from _runs_again(batch)


def _runs_again(batch: CalledBatch) -> Iterator[Decision]:
    """Yield whether calls run of tools that this request offered, unlike an earlier."""
    offered, earlier = _names(batch.now), batch.run.iterations[: batch.now.number - 1]
    lacked = {
        name
        for now in earlier
        if now.model_wraps and (shown := _names(now)) is not None
        for name in now.model_wraps[0].seen["tools"]
        if name not in shown
    }
    reached = all(calls_next(e) and not e.factory_error for e in _wraps(batch))
    if not keeps_ids(batch.agent) or not reached or offered is None:
        return
    for call in batch.calls:
        if call.name in lacked and call.name in offered:
            starts = batch.seen(call).starts
            at = starts[0] if starts else batch.run.error or batch.now.response
            names = [str(each.data["name"]) for each in starts[:1]]
            if batch.not_found or starts or batch.run.error is None:
                yield Decision(RUNS, [call.name], names, at)


def _wraps(batch: CalledBatch) -> Sequence[Any]:
    return list(tool_wraps(batch.agent))


def _earlier(case: PlayedWorld, run: RunView) -> Iterator[int]:
    """Yield the position of each entry around the model in earlier runs of an agent."""
    for each in case.played.runs:
        if each.number < run.number and each.spec.agent == run.spec.agent:
            for now in each.iterations:
                yield from (hook.position for hook in now.model_wraps)


def _taken(agent: AgentSpec, now: Iteration, times: Mapping[int, int]) -> set[str]:
    """Return the names that the wrappers of a request take out of it."""
    found: set[str] = set()
    for hook in now.model_wraps:
        spec = _model_wrap(agent, hook)
        if spec.hide_on_call in (None, times[hook.position]):
            found |= set(spec.hide_tools)
    return found


def _names(now: Iteration) -> list[str] | None:
    """Return the names that a request offers."""
    if now.request is None:
        return None
    tools = cast("Sequence[Any]", now.request.data["tools"])
    return [t["name"] if isinstance(t, Mapping) else t.name for t in tools]


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


def _hides(scenario: Scenario) -> bool:
    handlers = (each for agent in scenario.all_agents for each in agent.handlers)
    return any(each.wrap_model and each.wrap_model.hide_tools for each in handlers)


CHECKS: Final = (
    Check(
        clause="TOOL-024",
        decide=hidden_once,
        needs=frozenset(("wrap_model",)),
        meant=_hides,
    ),
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
