"""ERR around calls: what model, tool or wrapper raised, and how it comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.model_onions import model_wrap_of
from property_tests.checks.outcomes import Failed, fate, raised_in, shown_names
from property_tests.checks.passages import (
    Passage,
    PassageLayer,
    calls_of,
    layers,
    passages,
)
from property_tests.checks.specs import tool_wraps
from property_tests.view import Call, HookView, Iteration, RunView
from refengine.testing.trace import Observation

_ACTS: Final = frozenset(("hook_enter", "model_request", "tool_start"))
_WRAPPER: Final = frozenset(("wrap_model",))


def model_error_reported(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether an error of the model ends the run as such.

    Where a policy says how often it is asked again, that has clauses of its own.
    """
    for run, now in _iterations(case):
        if now.model_error is None or run.agent.retry is not None:
            continue
        text = now.model_error.data.get("error")
        error = {"point": "model", "text": text, "is": text}
        claim = "an error of the model ends the run as the model's, wrapped once"
        yield _model_report(claim, run, error, now.model_error)


def model_error_stops(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a hook, a tool or another call follows an error of the model."""
    for run, now in _iterations(case):
        if now.model_error is not None:
            claim = "after an error of the model no hook, tool or model call follows"
            yield _stops(claim, run, now.model_error)


def model_wrapper_error_surfaces(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether an error of a wrapper around the model ends the run as its own."""
    for run, hook, text in _model_raised(case):
        names = shown_names(run.agent)
        if names is not None and run.agent.retry is None:
            error = {"point": "model", "of": names[hook.position], "text": text}
            claim = "what a model wrapper raised ends the run as its, wrapped once"
            yield _model_report(claim, run, error, hook.enter)


def wrapper_error_stops(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether anything acts after a wrapper around the model raised."""
    for run, hook, _ in _model_raised(case):
        claim = "after a model wrapper raised no hook, tool or model call follows"
        yield _stops(claim, run, hook.enter)


def _model_raised(case: PlayedWorld) -> Iterator[tuple[RunView, HookView, str]]:
    """Yield each model wrapper that was called to raise, with the error's text."""
    for run, now in _iterations(case):
        if any(each.same_as is not None for each in run.agent.handlers):
            continue
        for hook in now.model_wraps:
            text = model_wrap_of(run.agent, hook).error
            if text is not None:
                yield run, hook, text


def _iterations(case: PlayedWorld) -> Iterator[tuple[RunView, Iteration]]:
    for run in case.played.runs:
        for now in run.iterations:
            yield run, now


def _model_report(
    claim: str, run: RunView, error: Mapping[str, object], raised: Observation
) -> Decision:
    expected = {"class": "ScriptedError", "error": error}
    got = None
    if run.error is not None:
        data = run.error.data
        got = {"class": data.get("class"), "error": data.get("error")}
    return Decision(claim, expected, got, run.error or raised)


def _stops(claim: str, run: RunView, raised: Observation) -> Decision:
    later = [e for e in run.entries if e.seq > raised.seq and e.kind in _ACTS]
    at = later[0] if later else raised
    return Decision(claim, [], [each.kind for each in later], at)


MODEL_CHECKS: Final = (
    Check(clause="ERR-005", decide=model_error_reported),
    Check(clause="ERR-006", decide=model_error_stops),
    Check(clause="ERR-024", decide=model_wrapper_error_surfaces, any_of=_WRAPPER),
    Check(clause="ERR-025", decide=wrapper_error_stops, any_of=_WRAPPER),
)
"""What all errors around the model have to keep."""


_WRAPPERS: Final = frozenset(
    ("wrap_tool", "wrap_streamable", "struct_tool_wrappers", "tool_call_middlewares")
)


def tool_error_reported(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether what a tool raised ends the run as a ToolError of that call."""
    for run, now in _tool_iterations(case):
        for call, name, failed in _only_failure(case, run, now):
            if failed.by_tool:
                error = {
                    "point": "tool",
                    "of": name,
                    "call": call.id,
                    "text": failed.text,
                }
                yield _tool_report(run, error, "ScriptedError", call)


def factory_error_reported(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a wrapper that cannot be made is an error of its handler."""
    for run, now in _tool_iterations(case):
        names = shown_names(run.agent)
        for call, _, failed in _only_failure(case, run, now):
            if failed.handler is not None and names is not None:
                error = {
                    "point": "wrap_invokable",
                    "of": names[failed.handler],
                    "text": failed.text,
                }
                yield _tool_report(run, error, "FactoryError", call)


def tool_wrapper_error_surfaces(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether what a wrapper raised when called is an error of that wrapper."""
    for run, now in _tool_iterations(case):
        names = shown_names(run.agent)
        for call, name, failed in _only_failure(case, run, now):
            if failed.wrapper is None or names is None:
                continue
            error = {"point": "tool", "of": name, "call": call.id, "text": failed.text}
            error |= _whose(failed.wrapper, names)
            yield _tool_report(run, error, "ScriptedError", call)


def _whose(wrapper: PassageLayer, names: Mapping[int, str]) -> dict[str, str]:
    """Return how an error tells a wrapper; that of no handler has no name there."""
    hook, dot, _ = wrapper.hook.partition(".")
    return {"hook": hook} if dot else {"hook": hook, "by": names[wrapper.position]}


def _tool_report(
    run: RunView, error: dict[str, str], class_: str, call: Call
) -> Decision:
    at = run.error or call.entries[-1]
    got = None
    if run.error is not None:
        data = run.error.data
        got = {"class": data.get("class"), "error": data.get("error")}
    claim = "the error of a failing call ends the run, wrapped once, by who raised it"
    return Decision(claim, {"class": class_, "error": error}, got, at)


def nothing_after_a_failing_call(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether the run goes on after a message of which a call failed."""
    for run, now in _tool_iterations(case):
        for call, _, _ in _failures(case, run, now):
            last = call.entries[-1]
            later = [
                each
                for each in run.entries
                if each.seq > last.seq
                and each.call_id is None
                and each.kind in {"hook_enter", "model_request"}
            ]
            claim = "after a failing call no hook of the run and no model call follows"
            at = later[0] if later else last
            yield Decision(claim, [], [each.kind for each in later], at)


def caught_as_it_was(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether a wrapper that catches sees the very error that was raised."""
    for _, _, call, name, way in _ways(case):
        for step in way.steps if way.kind == "invokable" else ():
            failed = raised_in(call, name, way, step)
            caught = step.layer.acting(name).catch_error
            if failed is not None and caught is not None:
                expected = caught.replace("<error>", failed.text)
                claim = "a wrapper that catches gets the error as it was raised"
                at = step.hook.exit or step.hook.enter
                yield Decision(claim, expected, step.hook.left, at)


def travels_on(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether an error leaves every wrapper that does not catch it."""
    for _, _, call, name, way in _ways(case):
        for step in way.steps:
            failed = raised_in(call, name, way, step)
            if failed is not None and step.layer.acting(name).catch_error is None:
                claim = "an error leaves every wrapper that does not catch it"
                at = step.hook.exit or step.hook.enter
                yield Decision(claim, True, step.raised, at)  # noqa: FBT003  # a value


def all_is_caught(case: PlayedWorld, run: RunView, now: Iteration) -> bool:
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
    case: PlayedWorld, run: RunView, now: Iteration
) -> list[tuple[Call, str, Failed]]:
    found: list[tuple[Call, str, Failed]] = []
    for call, name, way in _plain(case, run, now):
        failed = fate(call, name, way)
        if failed is not None:
            found.append((call, name, failed))
    return found


def _only_failure(
    case: PlayedWorld, run: RunView, now: Iteration
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
    calls = now.message.tool_calls if now.message else ()
    if now.after and now.after[-1].left:
        calls = now.after[-1].left[-1].tool_calls
    if all(each.id in now.calls for each in calls):
        return False
    kinds = (*layers(run.agent, "invokable"), *layers(run.agent, "streamable"))
    return any(each.factory_error(call.name) for each in kinds for call in calls)


def _plain(
    case: PlayedWorld, run: RunView, now: Iteration
) -> list[tuple[Call, str, Passage]]:
    answered = case.profile.unknown_tool == "answered"
    return list(passages(run, now, answered=answered)) if calls_of(now) else []


def _ways(case: PlayedWorld) -> Iterator[tuple[RunView, Iteration, Call, str, Passage]]:
    for run, now in _tool_iterations(case):
        for call, name, way in _plain(case, run, now):
            yield run, now, call, name, way


def _tool_iterations(case: PlayedWorld) -> Iterator[tuple[RunView, Iteration]]:
    for run in case.played.runs:
        for now in run.iterations:
            yield run, now


TOOL_CHECKS: Final = (
    Check(clause="ERR-007", decide=tool_error_reported),
    Check(clause="ERR-008", decide=nothing_after_a_failing_call),
    Check(clause="ERR-009", decide=caught_as_it_was, any_of=_WRAPPERS),
    Check(clause="ERR-010", decide=travels_on, any_of=_WRAPPERS),
    Check(clause="ERR-011", decide=factory_error_reported, any_of=_WRAPPERS),
    Check(clause="ERR-023", decide=tool_wrapper_error_surfaces, any_of=_WRAPPERS),
)
"""What all errors inside tool calls have to keep."""
