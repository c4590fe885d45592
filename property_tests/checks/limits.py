"""ERR where a run or a hook comes to a limit: no iteration left, no list of tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from property_tests.check import Case, Check, Decision
from property_tests.checks.outcomes import Due, built_by_agent, shown_names
from property_tests.view import HookView, RunView
from refengine.testing.narrowing import is_mapping
from refengine.testing.ops import (
    AppendTools,
    Op,
    RemoveTool,
    ReplaceReturnDirectly,
    SetReturnDirectly,
    SetTools,
)
from refengine.testing.scenario import AgentSpec

_DEFAULT: Final = 20
"""So many iterations a run has where fewer than one are asked for (a posture)."""


def exhausted(case: Case) -> Iterator[Decision]:
    """Decide how a run ends that has no answer after its last iteration."""
    rule = case.profile.exhaustion
    for run in case.played.runs:
        most, done = _limit(run.agent), len(run.iterations)
        told = run.status == "max_iterations" or _failed_at(run, "max_iterations")
        if run.end is None or not (told or (done >= most and _unanswered(run))):
            continue
        by_error = rule == "error" or (rule == "apology" and _has_after(run.agent))
        wanted = ["error", "max_iterations"] if by_error else ["max_iterations", None]
        point = None if run.error is None else point_in(run.error.data)
        asked = "a run without an answer after max_iterations ends by its posture"
        got = [done, run.status, point]
        yield Decision(asked, [most, *wanted], got, run.end)


def _unanswered(run: RunView) -> bool:
    """Tell whether the last iteration surely ran its tools to no end of the run."""
    last = run.iterations[-1]
    flags = (SetReturnDirectly, ReplaceReturnDirectly)
    ops = [op for each in run.agent.handlers for op in each.before_agent or ()]
    if run.agent.return_directly or any(isinstance(op, flags) for op in ops):
        return False
    calls = last.message.tool_calls if last.message else ()
    ran = all(each.id in last.calls and last.calls[each.id].ends for each in calls)
    others = run.error is not None and not _failed_at(run, "max_iterations")
    return bool(calls) and ran and not last.after and not others


def null_tools(case: Case) -> Iterator[Decision]:
    """Decide whether leaving no list of tools is refused, in the handler's name."""
    if case.profile.null_tools != "refused":
        return
    view, due = case.played, Due(case.played)
    for index, hooks in enumerate(built_by_agent(view)):
        agent = view.scenario.all_agents[index]
        for hook in hooks:
            if _leaves_null(due, hook):
                error = None if view.build_error is None else view.build_error.data
                yield from _refused(agent, hook, error)
    for run in view.runs:
        for hook in run.before_agent:
            if _leaves_null(due, hook):
                error = None if run.error is None else run.error.data
                yield from _refused(run.agent, hook, error)


def _refused(
    agent: AgentSpec, hook: HookView, error: Mapping[str, object] | None
) -> Iterator[Decision]:
    names = shown_names(agent)
    if names is None:
        return
    data = error or {}
    got = [data.get("class"), point_in(data), _named_in(data)]
    asked = "a hook that leaves another shape raises HookReturnError, in its name"
    wanted = ["HookReturnError", "before_agent", names[hook.position]]
    yield Decision(asked, wanted, got, hook.exit)


def _leaves_null(due: Due, hook: HookView) -> bool:
    """Tell whether a hook that returned left null where a list of tools has to be."""
    touching = (AppendTools, RemoveTool, SetTools)
    done = [op for op in due.of(hook) if isinstance(op, touching)]
    return hook.exit is not None and bool(done) and sets_null(done[-1])


def sets_null(op: Op) -> bool:
    """Tell whether an operation puts null where a list of tools has to be."""
    return isinstance(op, SetTools) and op.value is None


def point_in(data: Mapping[str, object]) -> object:
    """Return the point at which an error arose, as an entry tells it."""
    error = data.get("error")
    return error.get("point") if is_mapping(error) else None


def _named_in(data: Mapping[str, object]) -> object:
    error = data.get("error")
    return error.get("of") if is_mapping(error) else None


def _failed_at(run: RunView, point: str) -> bool:
    return run.error is not None and point_in(run.error.data) == point


def _limit(agent: AgentSpec) -> int:
    return agent.max_iterations if agent.max_iterations >= 1 else _DEFAULT


def _has_after(agent: AgentSpec) -> bool:
    structs = any(each.after_chat_model for each in agent.middlewares)
    return structs or any(each.after_model is not None for each in agent.handlers)


CHECKS: Final = (
    Check(clause="ERR-015", decide=exhausted),
    Check(
        clause="ERR-016",
        decide=null_tools,
        needs=frozenset(("before_agent", "edited_config")),
    ),
)
"""What the limits of a run and of a configuration have to keep."""
