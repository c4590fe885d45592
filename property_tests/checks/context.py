"""CTX: how far a context reaches (contract §2 CTX).

Every entry of a trace shows one value of the context. What a hook leaves is the hook's;
decided is who gets it, by the posture ``model_context`` where engines differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.outcomes import built_by_agent
from property_tests.checks.passages import PassageStep, passages, redirects
from property_tests.checks.threading_values import CHECKS as VALUE_CHECKS
from property_tests.view import HookView, Iteration, RunView
from refengine.testing.trace import Observation

_UNSET: Final = "-"
_NEEDS: Final = frozenset(("context",))
_MODEL_HOOKS: Final = frozenset(("before_model", "after_model", "struct_model_hooks"))
_WRAPPERS: Final = frozenset(
    ("wrap_tool", "wrap_streamable", "struct_tool_wrappers", "tool_call_middlewares")
)


def in_pipelines(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether each hook of a pass gets the context that the last one left."""
    for hooks in _passes(case):
        for one, then in pairwise(hooks):
            if one.exit is not None:
                claim = "a hook gets the context that the hook before it left"
                yield _decided(claim, _left(one), then.enter)


def _passes(case: PlayedWorld) -> Iterator[Sequence[HookView]]:
    """Yield the hooks of each pass through a pipeline."""
    yield from built_by_agent(case.played)
    for run in case.played.runs:
        yield run.before_agent
        for now in run.iterations:
            yield now.before
            yield now.after
        yield run.after_agent


def from_before_agent(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether every run starts with the context that before_agent left."""
    for run, now in _iterations(case):
        point = _first_point(now)
        if now.number == 1 and point is not None:
            claim = "a run starts with the context that the before_agent hooks left"
            yield _decided(claim, _base(case, run), point)


def to_the_model(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether model and model wrappers get what the before-hooks left."""
    for run, now in _iterations(case):
        expected = _at_model(case, run, now)
        points = [hook.enter for hook in now.model_wraps]
        points += [now.request] if now.request is not None else []
        for point in points if now.before or now.model_wraps else ():
            claim = "the model is called with the context that before-hooks left"
            yield _decided(claim, expected, point)


def to_after_hooks(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the after-hooks get the context that the before-hooks left."""
    for run, now in _iterations(case):
        for hook in now.after[:1]:
            claim = "after-hooks start with the context that before-hooks left"
            yield _decided(claim, _at_model(case, run, now), hook.enter)


def next_iteration(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether an iteration starts with the run's context, not the last one's."""
    for run, now in _iterations(case):
        point = _first_point(now)
        if now.number > 1 and point is not None:
            claim = "an iteration starts with the context that the run started with"
            yield _decided(claim, _base(case, run), point)


def to_the_tools(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the first call of a message gets the iteration's context."""
    for run, now in _iterations(case):
        for point in _outermost(run, now)[:1]:
            claim = "a call starts with the context that the iteration's hooks left"
            yield _decided(claim, _at_tools(case, run, now), point)


def not_to_siblings(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether every other call of a message starts with that context too."""
    for run, now in _iterations(case):
        for point in _outermost(run, now)[1:]:
            claim = "every call of a message starts with the same context"
            yield _decided(claim, _at_tools(case, run, now), point)


def inwards(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a wrapper's context reaches the layers and the tool inside it."""
    answered = case.profile.unknown_tool == "answered"
    for run, now in _iterations(case):
        for _, name, way in passages(run, now, answered=answered):
            for step in way.steps:
                for inner in step.inner:
                    point = (
                        inner.hook.enter if isinstance(inner, PassageStep) else inner
                    )
                    claim = "what a wrapper hands inwards is what stands inside it gets"
                    yield _decided(claim, _handed_on(step, name), point)


def _handed_on(step: PassageStep, name: str) -> object:
    """Return the value that a wrapper calls next with."""
    seen, added = step.hook.ctx_seen, step.layer.acting(name).ctx_append
    return f"{seen}{added.text}" if added and added.key == "h" else seen


def after_agent(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether after_agent gets the run's context, and no iteration's."""
    for run in case.played.runs:
        for hook in run.after_agent[:1]:
            claim = "after_agent hooks start with the context that the run started with"
            yield _decided(claim, _base(case, run), hook.enter)


def call_id(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a tool finds the id of its call, whatever wrappers did."""
    taken_over = case.profile.changed_call_id == "taken_over"
    for run, now in _iterations(case):
        if taken_over and redirects(run.agent):
            continue
        for start in now.entries:
            if start.kind != "tool_start":
                continue
            ids = _requested_ids(now, start.data.get("name"))
            got = start.call_id
            claim = "a tool finds the id of a call of it that the model asked for"
            yield Decision(claim, got if got in ids else ids, got, start)


def _requested_ids(now: Iteration, name: object) -> list[str]:
    """Return the ids of a tool's calls, in the answer or as after-hooks left it."""
    messages = [] if now.message is None else [now.message]
    for hook in now.after:
        messages += hook.left or ()
    calls = [call for each in messages for call in each.tool_calls]
    return sorted({call.id for call in calls if call.name == name})


def run_path(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a tool finds the path of the agents around it."""
    for run, now in _iterations(case):
        for start in now.entries:
            if start.kind == "tool_start":
                claim = "a tool finds the names of the agents around it as its path"
                got = start.data.get("run_path")
                yield Decision(claim, [run.agent.name], got, start)


def _base(case: PlayedWorld, run: RunView) -> object:
    """Return the value that the before_agent hooks left for a run."""
    hooks: Sequence[HookView] = run.before_agent
    if case.profile.before_agent == "build":
        hooks = built_by_agent(case.played)[run.spec.agent]
    return _left(hooks[-1]) if hooks else _UNSET


def _at_model(case: PlayedWorld, run: RunView, now: Iteration) -> object:
    """Return the value that the model is called with."""
    if now.before and case.profile.model_context != "before_hooks":
        return _left(now.before[-1])
    return _base(case, run)


def _at_tools(case: PlayedWorld, run: RunView, now: Iteration) -> object:
    """Return the value that every call of a message starts with."""
    if case.profile.model_context != "iteration":
        return _base(case, run)
    return _left(now.after[-1]) if now.after else _at_model(case, run, now)


def _left(hook: HookView) -> object:
    return _UNSET if hook.exit is None else hook.exit.data.get("ctx")


def _first_point(now: Iteration) -> Observation | None:
    """Return the first entry of an iteration that shows a context."""
    hooks = [*now.before, *now.model_wraps]
    return hooks[0].enter if hooks else now.request


def _outermost(run: RunView, now: Iteration) -> list[Observation]:
    """Return the first entry that shows a context, for each call of a message."""
    if redirects(run.agent):
        return []
    found: list[Observation] = []
    for call in now.calls.values():
        kinds = {"hook_enter", "tool_start"}
        found += [each for each in call.entries if each.kind in kinds][:1]
    return found


def _decided(claim: str, expected: object, point: Observation) -> Decision:
    return Decision(claim, expected, point.data.get("ctx"), point)


def _iterations(case: PlayedWorld) -> Iterator[tuple[RunView, Iteration]]:
    for run in case.played.runs:
        for now in run.iterations:
            yield run, now


_AGENT: Final = _NEEDS | {"before_agent"}
_SIBLINGS: Final = _NEEDS | {"parallel_calls"}

CHECKS: Final = (
    Check(clause="CTX-001", decide=in_pipelines, needs=_NEEDS),
    Check(clause="CTX-002", decide=from_before_agent, needs=_AGENT),
    Check(clause="CTX-003", decide=to_the_model, needs=_NEEDS, any_of=_MODEL_HOOKS),
    Check(clause="CTX-004", decide=to_after_hooks, needs=_NEEDS, any_of=_MODEL_HOOKS),
    Check(clause="CTX-005", decide=next_iteration, needs=_NEEDS),
    Check(clause="CTX-006", decide=to_the_tools, needs=_NEEDS),
    Check(clause="CTX-007", decide=inwards, needs=_NEEDS, any_of=_WRAPPERS),
    Check(clause="CTX-008", decide=not_to_siblings, needs=_SIBLINGS),
    Check(clause="CTX-009", decide=after_agent, needs=_NEEDS | {"after_agent"}),
    Check(clause="CTX-010", decide=call_id),
    Check(clause="CTX-011", decide=run_path),
    *VALUE_CHECKS,
)
