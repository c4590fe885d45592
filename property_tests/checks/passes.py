"""Passes of pipelines as they were seen, each with the one that the contract wants.

An iteration has parts, in order, and an observation is of one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from property_tests.check import Decision
from property_tests.checks import positions
from property_tests.checks.configuring import built_hooks, turns
from property_tests.view import AFTER, BEFORE, HookView, Iteration, RunView, View
from refengine.testing.trace import Observation

PARTS: Final = (
    "before-model hooks",
    "model wrappers",
    "the model",
    "its answer",
    "after-model hooks",
    "tools",
)
"""The parts of an iteration, in order."""
_OF_KIND: Final[Mapping[str, str]] = MappingProxyType(
    {
        "model_request": "the model",
        "model_response": "its answer",
        "model_error": "its answer",
        "tool_start": "tools",
        "tool_end": "tools",
        "tool_error": "tools",
    }
)


def part_of(seen: Observation) -> str | None:
    """Return the part of an iteration that an observation is of, None if it is of none.

    A wrapper around the model is left when the model has answered, so it counts where
    it is entered alone.
    """
    if seen.kind not in {"hook_enter", "hook_exit"}:
        return _OF_KIND.get(seen.kind)
    name = seen.data["hook"]
    if name in BEFORE | AFTER:
        return "before-model hooks" if name in BEFORE else "after-model hooks"
    if name == "wrap_model":
        return "model wrappers" if seen.kind == "hook_enter" else None
    return "tools" if seen.call_id is not None else None


SUCCEEDED: Final = frozenset(("completed", "returned_directly"))


@dataclass(frozen=True, slots=True)
class PipelinePass:
    """The hooks of one pass, and the places that should be entered, in order.

    ``there`` are the places that could be entered, also if none should be: those that
    should if it is None. ``at`` is where something is missing if no hook was entered.
    """

    hooks: Sequence[HookView]
    expected: Sequence[str]
    at: Observation | None
    there: Collection[str] | None = None

    @property
    def got(self) -> list[str]:
        """The places that were entered, without what is not wanted, or not so often."""
        return positions.only(self.expected, positions.labels_of(self.hooks))

    @property
    def stopped(self) -> bool:
        """Whether something was raised in its last hook."""
        return bool(self.hooks) and self.hooks[-1].exit is None


def before_model(view: View) -> Iterator[PipelinePass]:
    """Yield the passes before the model was called."""
    for run, now in _iterations(view):
        expected = positions.before_model(run.agent)
        if now.before or now.request is not None or now.model_wraps:
            yield PipelinePass(now.before, expected, _first(now.before, now.request))


def after_model(view: View) -> Iterator[PipelinePass]:
    """Yield the passes after the model answered."""
    for run, now in _iterations(view):
        if run.left_around(now):
            continue
        expected = positions.after_model(run.agent, view.profile)
        if now.after or (now.response is not None and _came_past(run, now)):
            yield PipelinePass(now.after, expected, _first(now.after, now.response))


def before_agent(view: View) -> Iterator[PipelinePass]:
    """Yield the passes of ``before_agent``, at build or at the start of runs."""
    agents = view.scenario.all_agents
    there = [p for each in agents for p in positions.of_handlers(each, "before_agent")]
    for run, setup, hooks in turns(view):
        where = None if run is None else run.start
        expected = [each.label for each in setup.steps]
        yield PipelinePass(hooks, expected, _first(hooks, where), there)
    if view.profile.before_agent == "build":
        late = view.built[sum(map(len, built_hooks(view))) :]
        if late:
            yield PipelinePass(late, (), late[0].enter, there)
        for run in view.runs:
            yield PipelinePass(run.before_agent, (), run.start, there)
    elif view.built:
        yield PipelinePass(view.built, (), view.built[0].enter, there)


def after_agent(view: View) -> Iterator[PipelinePass]:
    """Yield the passes at the end of runs; none is wanted unless a run succeeded."""
    called = view.profile.after_agent == "on_success"
    for run in view.runs:
        there = positions.after_agent(run.agent, view.profile)
        hooks = run.after_agent
        stopped = bool(hooks) and hooks[-1].exit is None
        expected = there if called and (run.status in SUCCEEDED or stopped) else ()
        if run.end is not None:
            yield PipelinePass(hooks, expected, _first(hooks, run.end), there)


def in_order(claim: str, passes: Iterable[PipelinePass]) -> Iterator[Decision]:
    """Decide that what was entered of a pass was entered in the wanted order."""
    for each in passes:
        got = each.got
        if got:
            yield Decision(claim, positions.in_order(each.expected, got), got, each.at)


def all_once(claim: str, passes: Iterable[PipelinePass]) -> Iterator[Decision]:
    """Decide that each hook of a pass was entered, and none twice."""
    for each in passes:
        entered = positions.labels_of(each.hooks)
        there = each.expected if each.there is None else each.there
        # A hook that an extension does not have is another clause's business.
        known = [label for label in entered if label in there]
        expected = list(each.expected)
        if each.stopped:
            if each.got != positions.in_order(expected, each.got):
                continue  # which of them are missing depends on the order
            expected = expected[: len(known)]
        if expected or known or each.there:
            yield Decision(claim, sorted(expected), sorted(known), each.at)


def _iterations(view: View) -> Iterator[tuple[RunView, Iteration]]:
    for run in view.runs:
        for now in run.iterations:
            yield run, now


def _first(hooks: Sequence[HookView], else_: Observation | None) -> Observation | None:
    return hooks[0].enter if hooks else else_


def _came_past(run: RunView, now: Iteration) -> bool:
    """Tell whether a run went on after the response: what breaks a stream ends it."""
    if now is not run.iterations[-1] or now.calls:
        return True
    return run.status not in {None, "error", "cancelled"} and not now.asks_around_model
