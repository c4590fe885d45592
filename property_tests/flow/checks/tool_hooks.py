"""Checks of the hooks around a tool, and of tools that fail or are not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from compat.engines.flow.operations import Give
from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.flow.view import (
    EventSeen,
    FlowTurn,
    FlowView,
    HookSeen,
    response_in,
)
from refengine.messages import NOTHING

Decisions = Iterator[DialectDecision]

OWN_TOOLS: Final = frozenset(
    ("transfer_to_agent", "set_model_response", "adk_request_confirmation")
)
"""Tools that the flow brings along."""


def before_value(seen: FlowView) -> Decisions:
    """FLOW-040: a tool whose place was taken is not run."""
    for turn, hook in _left(seen, "before_tool", "value"):
        if hook.value == {} and not hook.plugin:
            continue
        ran = [each.name for each in turn.tools if each.call_id == hook.call_id]
        claim = f"the tool is not run behind the value of {hook.owner}"
        yield DialectDecision(claim, [], ran, hook.place)
        given = _given(seen, hook)
        event = _response_event(turn, hook)
        told = event is not None and not seen.edits_events
        if given is not None and event is not None and told and not _after(seen, hook):
            yield DialectDecision(
                f"what {hook.owner} gave is the response",
                given,
                _response(event, hook.call_id),
                event.place,
            )


def after_short_cut(seen: FlowView) -> Decisions:
    """FLOW-041: after_tool hooks are entered behind a value of before_tool."""
    for turn, hook in _left(seen, "before_tool", "value"):
        if _after(seen, hook) and not (hook.value == {} and not hook.plugin):
            got = _entered(turn, hook, "after_tool")
            claim = f"after_tool is entered behind the value of {hook.owner}"
            yield DialectDecision(claim, True, bool(got), hook.place)  # noqa: FBT003  # what is expected


def recovered(seen: FlowView) -> Decisions:
    """FLOW-042: a value of on_tool_error is the response."""
    for turn, hook in _left(seen, "on_tool_error", "value"):
        given, event = _given(seen, hook), _response_event(turn, hook)
        if given is None or _after(seen, hook) or seen.edits_events:
            continue
        got = None if event is None else _response(event, hook.call_id)
        claim = f"what {hook.owner} gave is the response"
        yield DialectDecision(claim, given, got, hook.place)


def uncovered(seen: FlowView) -> Decisions:
    """FLOW-043: an error of a tool is data, or the end."""
    data = seen.profile.tool_failures == "data"
    for turn in seen.turns:
        for failed in turn.tool_errors:
            hooks = [
                each
                for each in turn.of("on_tool_error", "after_tool")
                if each.call_id == failed.call_id
            ]
            if any(each.left != "none" for each in hooks):
                continue
            if not data:
                got = failed.text in str((turn.error or {}).get("text", ""))
                claim = f"the error of tool {failed.name} ends the run"
                yield DialectDecision(claim, True, got, failed.place)  # noqa: FBT003  # what is expected
                continue
            if seen.edits_events:
                continue
            event = _answering(turn, failed.call_id)
            wanted = {"error": failed.text}
            told = None if event is None else _response(event, failed.call_id)
            claim = f"the error of tool {failed.name} is its response"
            yield DialectDecision(claim, wanted, told, failed.place)


def after_value(seen: FlowView) -> Decisions:
    """FLOW-044: a value of after_tool is the response."""
    for turn, hook in _left(seen, "after_tool", "value"):
        given, event = _given(seen, hook), _response_event(turn, hook)
        if given is None or not given or seen.edits_events:
            continue
        got = None if event is None else _response(event, hook.call_id)
        claim = f"what {hook.owner} gave is the response"
        if event is not None or not turn.failed:
            yield DialectDecision(claim, given, got, hook.place)


def after_error(seen: FlowView) -> Decisions:
    """FLOW-045: whether after_tool is entered behind an error nobody covered."""
    data = seen.profile.tool_failures == "data"
    for turn in seen.turns:
        for failed in turn.tool_errors:
            covered = [
                each
                for each in turn.of("on_tool_error")
                if each.call_id == failed.call_id and each.left != "none"
            ]
            after = _has(seen, failed.agent, "after_tool")
            if covered or not after:
                continue
            got = [e for e in turn.of("after_tool") if e.call_id == failed.call_id]
            claim = f"after_tool is entered behind the error of {failed.name}"
            yield DialectDecision(claim, data, bool(got), failed.place)


def before_error(seen: FlowView) -> Decisions:
    """FLOW-046: where an error of before_tool goes."""
    data = seen.profile.tool_failures == "data"
    for turn, hook in _left(seen, "before_tool", "error"):
        ran = [each.name for each in turn.tools if each.call_id == hook.call_id]
        claim = f"the tool is not run behind the error of {hook.owner}"
        yield DialectDecision(claim, [], ran, hook.place)
        if _has(seen, hook.agent, "on_tool_error"):
            got = bool(_entered(turn, hook, "on_tool_error"))
            claim = f"on_tool_error is entered for the error of {hook.owner}"
            yield DialectDecision(claim, data, got, hook.place)
        if not data:
            claim = f"the error of {hook.owner} ends the run"
            yield DialectDecision(claim, True, turn.failed, hook.place)  # noqa: FBT003  # what is expected


def empty_mapping(seen: FlowView) -> Decisions:
    """FLOW-047: an empty mapping ends the list, or not an agent's."""
    ends = seen.profile.tool_hook_values == "not_none"
    for name in ("before_tool", "after_tool"):
        for turn, hook in _left(seen, name, "value"):
            later = len(seen.agents[hook.agent].callbacks.get(name, ()))
            if hook.plugin or hook.value != {} or hook.number + 1 == later:
                continue
            behind = [e for e in _entered(turn, hook, name) if not e.plugin]
            claim = f"an empty mapping of {hook.owner} ends the list of {name}"
            yield DialectDecision(claim, ends, not behind, hook.place)


def unknown_tool(seen: FlowView) -> Decisions:
    """FLOW-048: a call to nobody is answered, or ends the run."""
    answers = seen.profile.unknown_tool != "aborts"
    for turn in seen.turns:
        if seen.is_parallel and turn.failed:
            continue  # who ran beside it may have failed
        for event in turn.events:
            for call in event.calls:
                if event.partial or not _is_unknown(seen, event.author, call["name"]):
                    continue
                hooks = [e for e in turn.hooks if e.call_id == call.get("id")]
                if seen.edits_events or any(each.left != "none" for each in hooks):
                    continue
                answer = _answering(turn, call.get("id", ""))
                claim = f"the call to {call['name']}, which is not there, is answered"
                got = answer is not None
                yield DialectDecision(claim, answers, got, event.place)
                if answer is not None:
                    told = str(_response(answer, call["id"]).get("error", ""))
                    claim = "the answer names the tool"
                    got = call["name"] in told
                    yield DialectDecision(claim, True, got, answer.place)  # noqa: FBT003  # what is expected


def edited_args(seen: FlowView) -> Decisions:
    """FLOW-049: what is changed of the arguments is what the tool is run with."""
    for turn, hook in _left(seen, "before_tool", "none"):
        edits = [e for e in seen.does(hook) if e.op == "edit_args" and not e.on_call]
        ran = [each for each in turn.tools if each.call_id == hook.call_id]
        later = [e for e in _entered(turn, hook, "before_tool") if seen.does(e)]
        if not edits or not ran or later:
            continue
        wanted = {key: value for each in edits for key, value in each.values.items()}
        got = {key: ran[0].args.get(key) for key in wanted}
        claim = f"the tool is run with what {hook.owner} wrote"
        yield DialectDecision(claim, wanted, got, ran[0].place)


def wrapped_result(seen: FlowView) -> Decisions:
    """FLOW-050: a result that is not a mapping stands under the key result."""
    for turn in seen.turns:
        for done in turn.tool_results:
            quiet = not any(
                each.left != "none" or seen.does(each)
                for each in turn.of("after_tool")
                if each.call_id == done.call_id
            )
            event = _answering(turn, done.call_id)
            if not quiet or event is None or seen.edits_events:
                continue
            if isinstance(done.value, Mapping) or done.value is None:
                continue
            if done.name in OWN_TOOLS:
                continue
            claim = f"what {done.name} gave is told under the key result"
            got = _response(event, done.call_id)
            yield DialectDecision(claim, {"result": done.value}, got, event.place)


def equal_names(seen: FlowView) -> Decisions:
    """FLOW-051: equal names are an error, or the last tool runs."""
    for agent in seen.agents.values():
        names = [each.called for each in agent.tools]
        twice = {each for each in names if names.count(each) > 1}
        if not twice:
            continue
        fails = seen.profile.equal_tool_names == "error"
        for turn in seen.turns:
            asked = any(each.agent == agent.name for each in turn.requests)
            if (
                turn.of("before_agent")
                or len(seen.agents) > 1
                or "{" in agent.instruction
            ):
                continue
            claim = (
                f"the model of {agent.name}, which has two tools of one name, is asked"
            )
            yield DialectDecision(claim, not fails, asked, turn.end)


# What the checks have in common


def _left(seen: FlowView, name: str, left: str) -> Iterator[tuple[FlowTurn, HookSeen]]:
    for turn in seen.turns:
        for each in turn.of(name):
            if each.left == left:
                yield turn, each


def _given(seen: FlowView, hook: HookSeen) -> Mapping[str, Any] | None:
    """Return the result that a hook is told to give."""
    given = [each for each in seen.does(hook) if isinstance(each, Give)]
    return given[0].result if len(given) == 1 and not given[0].on_call else None


def _entered(turn: FlowTurn, hook: HookSeen, name: str) -> list[HookSeen]:
    """Return who entered a hook of the same call later."""
    return [
        each
        for each in turn.of(name)
        if each.call_id == hook.call_id and each.place > hook.place
    ]


def _has(seen: FlowView, agent: str, hook: str) -> bool:
    plugs = any(hook in each.hooks for each in seen.scenario.plugins)
    return plugs or bool(seen.agents[agent].callbacks.get(hook))


def _after(seen: FlowView, hook: HookSeen) -> bool:
    return _has(seen, hook.agent, "after_tool")


def _answering(turn: FlowTurn, call_id: str) -> EventSeen | None:
    """Return the event that has the response to a call."""
    return next(
        (e for e in turn.events if any(r.get("id") == call_id for r in e.responses)),
        None,
    )


def _response_event(turn: FlowTurn, hook: HookSeen) -> EventSeen | None:
    return _answering(turn, hook.call_id)


def _response(event: EventSeen, call_id: str) -> Mapping[str, Any]:
    found = (e for e in event.responses if e.get("id") == call_id)
    return response_in(next(found, NOTHING))


def _is_unknown(seen: FlowView, agent: str, name: str) -> bool:
    spec = seen.agents.get(agent)
    return (
        spec is not None
        and name not in OWN_TOOLS
        and name not in {each.called for each in spec.tools}
    )


CHECKS: Final = (
    DialectCheck(clause="FLOW-040", decide=before_value),
    DialectCheck(clause="FLOW-041", decide=after_short_cut),
    DialectCheck(clause="FLOW-042", decide=recovered),
    DialectCheck(clause="FLOW-043", decide=uncovered),
    DialectCheck(clause="FLOW-044", decide=after_value),
    DialectCheck(clause="FLOW-045", decide=after_error),
    DialectCheck(clause="FLOW-046", decide=before_error),
    DialectCheck(clause="FLOW-047", decide=empty_mapping),
    DialectCheck(clause="FLOW-048", decide=unknown_tool),
    DialectCheck(clause="FLOW-049", decide=edited_args),
    DialectCheck(clause="FLOW-050", decide=wrapped_result),
    DialectCheck(clause="FLOW-051", decide=equal_names),
)
