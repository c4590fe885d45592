"""ERR: where errors go (contract §2 ERR).

Also where a run or a hook comes to a limit: no iteration left, no list of tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.call_errors import MODEL_CHECKS, TOOL_CHECKS, all_is_caught
from property_tests.checks.outcomes import (
    PIPELINES,
    STRUCT_HOOKS,
    Due,
    built_by_agent,
    pipeline_hooks,
    shown_names,
)
from property_tests.checks.specs import tool_wraps
from property_tests.view import HookView, RunView
from refengine.testing.json_values import is_mapping
from refengine.testing.ops import (
    AppendTools,
    Op,
    RemoveTool,
    ReplaceReturnDirectly,
    SetReturnDirectly,
    SetTools,
)
from refengine.testing.scenario import AgentSpec
from refengine.testing.trace import Observation

_DEFAULT: Final = 20
"""So many iterations a run has where fewer than one are asked for (a posture)."""


def exhausted(case: PlayedWorld) -> Iterator[Decision]:
    """Decide how a run ends that has no answer after its last iteration."""
    rule = case.profile.exhaustion
    for run in case.played.runs:
        most, done = _limit(run.agent), len(run.iterations)
        reported = run.status == "max_iterations" or _failed_at(run, "max_iterations")
        if run.end is None or not (reported or (done >= most and _unanswered(run))):
            continue
        by_error = rule == "error" or (rule == "apology" and _has_after(run.agent))
        expected = ["error", "max_iterations"] if by_error else ["max_iterations", None]
        point = None if run.error is None else point_in(run.error.data)
        claim = "a run without an answer after max_iterations ends by its posture"
        got = [done, run.status, point]
        yield Decision(claim, [most, *expected], got, run.end)


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
    others |= run.status in {"interrupted", "cancelled"}
    return bool(calls) and ran and not last.after and not others


def null_tools(case: PlayedWorld) -> Iterator[Decision]:
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
    claim = "a hook that leaves another shape raises HookReturnError, in its name"
    expected = ["HookReturnError", "before_agent", names[hook.position]]
    yield Decision(claim, expected, got, hook.exit)


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


LIMIT_CHECKS: Final = (
    Check(clause="ERR-015", decide=exhausted),
    Check(
        clause="ERR-016",
        decide=null_tools,
        needs=frozenset(("before_agent", "edited_config")),
    ),
)
"""What the limits of a run and of a configuration have to keep."""


_QUIET: Final = frozenset(("effect", "caller_object_changed", "result_events"))
_HOOKS: Final = frozenset(
    ("before_agent", "before_model", "after_model", "after_agent", "struct_model_hooks")
)


def hook_error_stops(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether anything follows a hook of a pipeline that raised."""
    claim = "after a hook that raised nothing follows but the error and the end"
    for run in case.played.runs:
        if run.is_left:
            continue  # in a hook that asked, or was cancelled
        for hook in _raised(pipeline_hooks(run))[:1]:
            later = [e for e in run.entries if e.seq > hook.enter.seq and _acts(e)]
            kinds = [each.kind for each in later]
            yield Decision(claim, ["event", "run_end"], kinds, hook.enter)


def _acts(seen: Observation) -> bool:
    """Tell whether an entry is of the engine or its error: others may be taken late."""
    told = seen.kind == "event" and seen.data.get("kind") != "error"
    return seen.kind not in _QUIET and not told


def hook_error_reported(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the error of a run's hook names the hook and its handler."""
    due = Due(case.played)
    for run in case.played.runs:
        for hook in _raised(pipeline_hooks(run))[:1]:
            expected = _error_of(run.agent, hook, due)
            if expected is not None and hook.name != "before_agent":
                yield _hook_report(run, expected, hook)


def run_start_error(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether an error of ``before_agent`` in a run comes before anything."""
    due = Due(case.played)
    for run in case.played.runs if case.profile.before_agent == "run" else ():
        for hook in _raised(run.before_agent)[:1]:
            expected = _error_of(run.agent, hook, due)
            if expected is not None:
                yield _hook_report(run, expected, hook)


def build_error(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether an error of ``before_agent`` at build comes out of the build."""
    if case.profile.before_agent != "build":
        return
    view, due = case.played, Due(case.played)
    for index, hooks in enumerate(built_by_agent(view)):
        for hook in _raised(hooks)[:1]:
            expected = _error_of(view.scenario.all_agents[index], hook, due)
            later = [
                each.kind
                for each in view.build
                if each.seq > hook.enter.seq and each.kind not in _QUIET
            ]
            claim = "a before_agent that raises at build ends it, and no run begins"
            seen = [later, len(view.runs)]
            yield Decision(claim, [["build_error"], 0], seen, hook.enter)
            error = view.build_error
            if expected is not None and error is not None:
                claim = "the build's error names before_agent, its handler and the text"
                yield Decision(claim, expected, _shown(error.data), error)


def error_is_last(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether just the runs with status error have an error, as last event."""
    for run in case.played.runs:
        if run.end is None:
            continue
        failing = ["error" in each.data for each in run.events]
        expected = [False] * len(failing)
        if run.status == "error":
            expected = [*expected[:-1], True]
        claim = "a run with status error has one error event, its last; no other has"
        yield Decision(claim, expected, failing, run.end)


def error_has_cause(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether what a run says failed in it has failed."""
    for run in case.played.runs:
        if run.error is None:
            continue
        cause = _cause_seen(case, run, str(point_in(run.error.data)))
        if cause is not None:
            claim = "a run ends with an error of what raised in it, and of nothing else"
            yield Decision(claim, True, cause, run.error)  # noqa: FBT003  # a value


def _cause_seen(case: PlayedWorld, run: RunView, point: str) -> bool | None:
    """Tell whether something failed at a point; None if the trace cannot say."""
    if point in PIPELINES:
        hooks = pipeline_hooks(run)
        null = point == "before_agent" and _sets_null(run.agent)
        return null or any(each.name == point for each in _raised(hooks))
    last = run.iterations[-1] if run.iterations else None
    if point == "model":
        return last is not None and last.response is None
    if point == "tool":
        return last is not None and not all_is_caught(case, run, last)
    if point == "wrap_invokable":
        return any(each.factory_error is not None for each in tool_wraps(run.agent))
    return None


def error_is_own(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether errors of runs are the engine's own, which tell their point."""
    for run in case.played.runs:
        if run.error is not None:
            claim = "an error that ends a run is the engine's own and names its point"
            known = point_in(run.error.data) != "harness"
            yield Decision(claim, True, known, run.error)  # noqa: FBT003  # a value


def _sets_null(agent: AgentSpec) -> bool:
    return any(
        sets_null(op) for each in agent.handlers for op in each.before_agent or ()
    )


def _raised(hooks: list[HookView]) -> list[HookView]:
    return [hook for hook in hooks if hook.exit is None]


def _error_of(agent: AgentSpec, hook: HookView, due: Due) -> dict[str, object] | None:
    """Return class and point of a hook's error; None if it raised something else."""
    text, names = due.failure(hook), shown_names(agent)
    if text is None or names is None:
        return None
    error = {"point": hook.name, "text": text}
    if hook.name not in STRUCT_HOOKS:
        error["of"] = names[hook.position]
    return {"class": "ScriptedError", "error": error}


def _hook_report(run: RunView, expected: dict[str, object], hook: HookView) -> Decision:
    got = None if run.error is None else _shown(run.error.data)
    claim = "the error of a hook ends the run, wrapped once: its hook, handler and text"
    return Decision(claim, expected, got, run.error or hook.enter)


def _shown(data: Mapping[str, object]) -> dict[str, object]:
    return {"class": data.get("class"), "error": data.get("error")}


CHECKS: Final = (
    Check(clause="ERR-001", decide=hook_error_stops, any_of=_HOOKS),
    Check(clause="ERR-002", decide=hook_error_reported, any_of=_HOOKS),
    Check(clause="ERR-003", decide=build_error, needs=frozenset(("before_agent",))),
    Check(clause="ERR-004", decide=run_start_error, needs=frozenset(("before_agent",))),
    *MODEL_CHECKS,
    *TOOL_CHECKS,
    Check(clause="ERR-012", decide=error_is_last),
    Check(clause="ERR-013", decide=error_has_cause),
    Check(clause="ERR-014", decide=error_is_own),
    *LIMIT_CHECKS,
)
