"""RUN: what a run does, in order, and how it ends (contract §2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks import ends, positions
from property_tests.checks.histories import Continuation, turns
from property_tests.checks.model_onions import names_in
from property_tests.checks.onions import changes_call_id, layers_of
from property_tests.checks.routes import calls_once, has_after_hooks, has_tools
from property_tests.view import AFTER, BEFORE, Iteration, RunView, View
from refengine.messages import ToolCall
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


def order(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the parts of an iteration come in the contract's order."""
    for now in case.played.iterations:
        seen = [each for each in now.entries if _counts(now, each)]
        got = [part for part, _ in groupby(map(part_of, seen))]
        claim = "before hooks, model wrappers, model, after hooks, tools"
        if len(got) > 1:
            expected = [each for each in PARTS if each in got]
            yield Decision(claim, expected, got, _out_of_order(seen))
        if now.after:
            claim = "after-model hooks follow an answer"
            answered = now.response is not None
            yield Decision(claim, expected=True, got=answered, at=now.after[0].enter)


def one_model_call(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that an iteration calls the model exactly once."""
    for run in case.played.runs:
        requests = [e for e in run.entries if e.kind == "model_request"]
        if run.agent.retry is not None:  # further attempts are of the same call
            requests = [now.request for now in run.iterations if now.request]
        if run.end is not None and run.error is None and not run.is_left:
            claim = "one model call an iteration"
            expected = run.end.data["iterations"]
            yield Decision(claim, expected, len(requests), run.end)
            claim = "a run asks the model, whatever it was given"
            yield Decision(claim, expected=True, got=bool(requests), at=run.end)
        for now in run.iterations:
            count = sum(each.kind == "model_request" for each in now.entries)
            if count:
                yield Decision("one model call an iteration", 1, count, now.request)


def all_answered(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the model is asked again only when every call was run."""
    for run in case.played.runs:
        for turn in turns(case.played, run):
            at = turn.now.number
            if turn.route.kind != "calls" or at >= len(run.iterations):
                continue
            if changes_call_id(run.agent) or run.agent.unknown_tools_handler:
                continue
            missing = [c.id for c in turn.route.calls if not _was_run(turn, c)]
            claim = "every call is run before the model is asked again"
            yield Decision(claim, [], missing, run.iterations[at].entries[0])


def each_call_once(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that every call of a message is executed exactly once."""
    for run, turn in _unwrapped(case.played):
        if _broke_off(case, run, turn):
            continue
        ids = [call.id for call in turn.route.calls]
        shown = names_in(turn.now)
        for call in turn.route.calls:
            if call.name in shown and ids.count(call.id) == 1:
                seen = turn.now.calls.get(call.id)
                starts = seen.starts if seen else []
                at = (starts or turn.now.entries)[-1]
                claim = "a call of the message is executed once"
                yield Decision(claim, 1, len(starts), at)
                for start in starts:
                    got = (start.data["name"], start.data["arguments"])
                    claim = "the tool of the call runs, with the model's arguments"
                    yield Decision(claim, (call.name, call.arguments), got, start)


def without_tools(case: PlayedWorld) -> Iterator[Decision]:
    """Decide whether an agent without tools is one model call, or the same loop."""
    for run in case.played.runs:
        if not run.iterations or has_tools(case.played, run):
            continue
        now, once = run.iterations[-1], calls_once(case.played, run)
        unknown = ends.point_of(run) == "unknown_tool"
        if once:
            claim = "an agent without tools calls the model once, and runs no calls"
            got = (len(run.iterations), [*now.calls], unknown)
            none: list[str] = []
            yield Decision(claim, (1, none, False), got, now.entries[-1])
        elif _asks_in_vain(case, run):
            claim = "an agent without tools looks for the tools that the model calls"
            yield Decision(claim, "unknown", unknown and "unknown", now.entries[-1])


def _asks_in_vain(case: PlayedWorld, run: RunView) -> bool:
    """Tell whether the first answer calls tools that a run looks for, and fails."""
    message = run.iterations[0].message
    plain = not has_after_hooks(run.agent) and not run.iterations[0].model_error
    aborts = case.profile.unknown_tool == "abort"
    late = case.profile.exhaustion == "apology" and run.agent.max_iterations == 1
    return bool(
        message
        and message.tool_calls
        and plain
        and aborts
        and not late
        and run.agent.unknown_tools_handler is None
    )


def own_hooks_only(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that an extension is entered by hooks that it has."""
    for parts, entries in _by_agent(case.played):
        for each in entries:
            if each.kind == "hook_enter":
                got = positions.label_in(each)
                claim = "only hooks that an extension has are called"
                yield Decision(claim, got if got in parts else None, got, each)


def _by_agent(view: View) -> Iterator[tuple[set[str], Sequence[Observation]]]:
    """Yield what each agent may enter with what was observed of it."""
    own = [positions.every_label(agent) for agent in view.scenario.all_agents]
    for run in view.runs:
        yield own[run.spec.agent], run.entries
    yield set().union(*own), view.build


def _counts(now: Iteration, seen: Observation) -> bool:
    """Tell whether an entry is of a part of its iteration.

    A second model call of an iteration is told of by its own clause.
    """
    if seen.kind == "model_request" and seen is not now.request:
        return False
    return part_of(seen) is not None


def _out_of_order(seen: Sequence[Observation]) -> Observation:
    """Return the first entry of a part that comes before that of the last entry."""
    parts = [PARTS.index(part_of(each) or "tools") for each in seen]
    wrong = (n for n, at in enumerate(parts[1:], 1) if at < parts[n - 1])
    return seen[next(wrong, -1)]


def _was_run(turn: Continuation, call: ToolCall) -> bool:
    seen = turn.now.calls.get(call.id)
    return seen is not None and bool(seen.hooks or seen.starts or seen.events)


def _unwrapped(view: View) -> Iterator[tuple[RunView, Continuation]]:
    """Yield the turns of runs that nobody wraps the tools of."""
    for run in view.runs:
        if layers_of(run.agent, "invoke") or layers_of(run.agent, "stream"):
            continue
        for turn in turns(view, run):
            yield run, turn


def _broke_off(case: PlayedWorld, run: RunView, turn: Continuation) -> bool:
    """Tell whether a call may not have been run because another one ended the run."""
    if run.left_in(turn.now):
        return True
    if run.error is None or turn.now is not run.iterations[-1]:
        return False
    cancels = case.profile.failing_call == "siblings_cancelled"
    return cancels or ends.point_of(run) != "tool"


_DIRECT: Final = frozenset(("return_directly",))

CHECKS: Final = (
    Check(clause="RUN-001", decide=order),
    Check(clause="RUN-002", decide=one_model_call),
    Check(clause="RUN-003", decide=all_answered),
    Check(clause="RUN-004", decide=each_call_once),
    Check(clause="RUN-006", decide=without_tools),
    Check(clause="RUN-009", decide=own_hooks_only),
    Check(clause="RUN-010", decide=ends.limit),
    Check(clause="RUN-011", decide=ends.exhaustion),
    Check(clause="RUN-012", decide=ends.answer_at_limit),
    Check(clause="RUN-013", decide=ends.limit_below_one),
    Check(clause="RUN-014", decide=ends.always_an_end),
    Check(clause="RUN-015", decide=ends.returned_directly, needs=_DIRECT),
    Check(clause="RUN-016", decide=ends.counted),
    Check(
        clause="RUN-028",
        decide=ends.failed_counted,
        needs=frozenset(("failed_history",)),
    ),
    Check(
        clause="RUN-018",
        decide=ends.after_agent_sees,
        needs=frozenset(("after_agent",)),
    ),
)
