"""ERR around tool calls: what was raised inside a call, and how it comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from property_tests.check import Case, Check, Decision
from property_tests.checks.outcomes import Failed, fate, raised_in, shown_names
from property_tests.checks.passages import Layer, Passage, calls_of, layers, passages
from property_tests.checks.specs import tool_wraps
from property_tests.view import Call, Iteration, RunView

_WRAPPERS: Final = frozenset(
    ("wrap_tool", "wrap_streamable", "struct_tool_wrappers", "tool_call_middlewares")
)


def tool_error_told(case: Case) -> Iterator[Decision]:
    """Decide whether what a tool raised ends the run as a ToolError of that call."""
    for run, now in _iterations(case):
        for call, name, failed in _only_failure(case, run, now):
            if failed.by_tool:
                error = {
                    "point": "tool",
                    "of": name,
                    "call": call.id,
                    "text": failed.text,
                }
                yield _told(run, error, "ScriptedError", call)


def factory_error_told(case: Case) -> Iterator[Decision]:
    """Decide whether a wrapper that cannot be made is an error of its handler."""
    for run, now in _iterations(case):
        names = shown_names(run.agent)
        for call, _, failed in _only_failure(case, run, now):
            if failed.handler is not None and names is not None:
                error = {
                    "point": "wrap_invokable",
                    "of": names[failed.handler],
                    "text": failed.text,
                }
                yield _told(run, error, "FactoryError", call)


def wrapper_error_told(case: Case) -> Iterator[Decision]:
    """Decide whether what a wrapper raised when called is an error of that wrapper."""
    for run, now in _iterations(case):
        names = shown_names(run.agent)
        for call, name, failed in _only_failure(case, run, now):
            if failed.wrapper is None or names is None:
                continue
            error = {"point": "tool", "of": name, "call": call.id, "text": failed.text}
            error |= _whose(failed.wrapper, names)
            yield _told(run, error, "ScriptedError", call)


def _whose(wrapper: Layer, names: Mapping[int, str]) -> dict[str, str]:
    """Return how an error tells a wrapper; that of no handler has no name there."""
    hook, dot, _ = wrapper.hook.partition(".")
    return {"hook": hook} if dot else {"hook": hook, "by": names[wrapper.position]}


def _told(run: RunView, error: dict[str, str], class_: str, call: Call) -> Decision:
    at = run.error or call.entries[-1]
    got = None
    if run.error is not None:
        data = run.error.data
        got = {"class": data.get("class"), "error": data.get("error")}
    asked = "the error of a failing call ends the run, wrapped once, by who raised it"
    return Decision(asked, {"class": class_, "error": error}, got, at)


def nothing_after_a_failing_call(case: Case) -> Iterator[Decision]:
    """Decide whether the run goes on after a message of which a call failed."""
    for run, now in _iterations(case):
        for call, _, _ in _failures(case, run, now):
            last = call.entries[-1]
            later = [
                each
                for each in run.entries
                if each.seq > last.seq
                and each.call_id is None
                and each.kind in {"hook_enter", "model_request"}
            ]
            asked = "after a failing call no hook of the run and no model call follows"
            at = later[0] if later else last
            yield Decision(asked, [], [each.kind for each in later], at)


def caught_as_it_was(case: Case) -> Iterator[Decision]:
    """Decide whether a wrapper that catches sees the very error that was raised."""
    for _, _, call, name, way in _ways(case):
        for step in way.steps if way.kind == "invokable" else ():
            failed = raised_in(call, name, way, step)
            caught = step.layer.acting(name).catch_error
            if failed is not None and caught is not None:
                wanted = caught.replace("<error>", failed.text)
                asked = "a wrapper that catches gets the error as it was raised"
                at = step.hook.exit or step.hook.enter
                yield Decision(asked, wanted, step.hook.left, at)


def travels_on(case: Case) -> Iterator[Decision]:
    """Decide whether an error leaves every wrapper that does not catch it."""
    for _, _, call, name, way in _ways(case):
        for step in way.steps:
            failed = raised_in(call, name, way, step)
            if failed is not None and step.layer.acting(name).catch_error is None:
                asked = "an error leaves every wrapper that does not catch it"
                at = step.hook.exit or step.hook.enter
                yield Decision(asked, True, step.raised, at)  # noqa: FBT003  # a value


def all_is_caught(case: Case, run: RunView, now: Iteration) -> bool:
    """Tell whether every call of an iteration surely came out without an error."""
    ways = {call.id: (call, name, way) for call, name, way in _plain(case, run, now)}
    if any(each.factory_error is not None for each in tool_wraps(run.agent)):
        return False
    if not now.calls or ways.keys() != now.calls.keys():
        return False
    if now.message is None or any(
        call.id not in now.calls for call in now.message.tool_calls
    ):
        return False
    return all(
        fate(*each) is None and not _unclear(each[0], each[2]) for each in ways.values()
    )


def _unclear(call: Call, way: Passage) -> bool:
    """Tell whether a call may have failed without a word in the trace."""
    if way.steps:
        return [step for step in way.steps if step.outer is None][-1].raised
    return len(call.ends) < len(call.starts) or not call.starts


def _failures(
    case: Case, run: RunView, now: Iteration
) -> list[tuple[Call, str, Failed]]:
    found: list[tuple[Call, str, Failed]] = []
    for call, name, way in _plain(case, run, now):
        failed = fate(call, name, way)
        if failed is not None:
            found.append((call, name, failed))
    return found


def _only_failure(
    case: Case, run: RunView, now: Iteration
) -> list[tuple[Call, str, Failed]]:
    """Return the failing call of an iteration, if there surely is just one."""
    found = _failures(case, run, now)
    if len(found) != 1 or len(list(_plain(case, run, now))) < len(now.calls):
        return []
    cancels = case.profile.failing_call == "siblings_cancelled"
    for call, _, way in _plain(case, run, now):
        if call is not found[0][0] and _unclear(call, way) and not cancels:
            return []
    return [] if _may_fail_unseen(run, now) else found


def _may_fail_unseen(run: RunView, now: Iteration) -> bool:
    """Tell whether a call may have failed before anything of it was observed."""
    asked = now.message.tool_calls if now.message else ()
    if now.after and now.after[-1].left:
        asked = now.after[-1].left[-1].tool_calls
    if all(each.id in now.calls for each in asked):
        return False
    kinds = (*layers(run.agent, "invokable"), *layers(run.agent, "streamable"))
    return any(each.factory_error(call.name) for each in kinds for call in asked)


def _plain(case: Case, run: RunView, now: Iteration) -> list[tuple[Call, str, Passage]]:
    answered = case.profile.unknown_tool == "answered"
    return list(passages(run, now, answered=answered)) if calls_of(now) else []


def _ways(case: Case) -> Iterator[tuple[RunView, Iteration, Call, str, Passage]]:
    for run, now in _iterations(case):
        for call, name, way in _plain(case, run, now):
            yield run, now, call, name, way


def _iterations(case: Case) -> Iterator[tuple[RunView, Iteration]]:
    for run in case.played.runs:
        for now in run.iterations:
            yield run, now


CHECKS: Final = (
    Check(clause="ERR-007", decide=tool_error_told),
    Check(clause="ERR-008", decide=nothing_after_a_failing_call),
    Check(clause="ERR-009", decide=caught_as_it_was, any_of=_WRAPPERS),
    Check(clause="ERR-010", decide=travels_on, any_of=_WRAPPERS),
    Check(clause="ERR-011", decide=factory_error_told, any_of=_WRAPPERS),
    Check(clause="ERR-023", decide=wrapper_error_told, any_of=_WRAPPERS),
)
"""What all errors inside tool calls have to keep."""
