"""A run that is cancelled: how it is left, and what it tells (contract RUN).

What has begun and ended when a run is cancelled is a matter of an engine's own pace,
so what has to follow is read from its own trace, and not from the reference's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.specs import answers_itself, keeps_ids, tool_wraps
from property_tests.view import AFTER, BEFORE, RunView
from refengine.messages import Message
from refengine.testing.recorder import ENTRIES
from refengine.testing.scenario import AgentSpec, Scenario, ToolWrapSpec
from refengine.testing.trace import Observation

CANCEL: Final = frozenset(("cancellation",))
PASSES: Final = BEFORE | AFTER | {"after_agent"}
ENDS: Final[Mapping[str, frozenset[str]]] = {
    "hook_enter": frozenset(("hook_exit",)),
    "tool_start": frozenset(("tool_end", "tool_error")),
}
"""By what begins: what ends it."""


def no_dangling_call(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that each call of the last answer has a result, marked where it is none."""
    for run, _ in cancelled(case):
        calls, results = _last_calls(run.final)
        if run.is_edited or not _made(run).issuperset(calls):
            continue
        if not keeps_ids(run.agent):
            continue  # what becomes of another id is a posture
        if calls:
            ids = [each.tool_call_id for each in results]
            yield Decision("results that a cancelled run leaves", calls, ids, run.end)
        ended = {each.call_id for each in run.entries if each.kind == "tool_end"}
        for each in () if answers_itself(run.agent) else results:
            if each.tool_call_id not in ended:
                claim = "whether the result of a call that did not end says so"
                got = each.extra.get("is_error")
                yield Decision(claim, expected=True, got=got, at=run.end)


def streams_closed(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that each stream that was begun is closed, once."""
    for run, _ in cancelled(case):
        begun = _streams(run)
        closed = Counter(
            (str(each.data.get("of")), each.call_id)
            for each in run.entries
            if each.kind == "stream_close"
        )
        for stream, count in begun.items():
            claim = f"closings of streams of a {stream[0]} that had begun"
            yield Decision(claim, count, closed[stream], run.end)


def wrappers_left(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that each wrapper that was entered is left, its ``finally`` run."""
    for run, _ in cancelled(case):
        phases: dict[str, list[str]] = {"enter": [], "exit": []}
        both = _recorded(run.agent)
        for at, entry in _effects(run):
            if entry.get("phase") in phases and entry.get("by") in both:
                label = f"{entry.get('by')} {at.call_id}"
                phases[str(entry["phase"])].append(label)
        if phases["enter"]:
            yield Decision(
                "wrappers that were entered, and those that were left",
                sorted(phases["enter"]),
                sorted(phases["exit"]),
                run.end,
            )


def nothing_more(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that nothing of a run begins after it was cancelled."""
    for run, at in cancelled(case):
        more = [each for each in run.entries if each.seq > at.seq and _begins(each)]
        claim = "model calls and hooks of a pass after a run was cancelled"
        got = [each.kind for each in more]
        yield Decision(claim, [], got, (more or [at])[0])


def cancelled(case: PlayedWorld) -> Iterator[tuple[RunView, Observation]]:
    """Yield each run that was cancelled, and the entry at which it was."""
    for run in case.played.runs:
        at = _cancelled_at(run)
        if at is not None and run.end is not None:
            yield run, at


def _cancelled_at(run: RunView) -> Observation | None:
    spec = run.spec.cancel
    if spec is None:
        return None
    when = ENTRIES.get(spec.when, spec.when)
    known = {id(each): entry for each, entry in _effects(run)}
    points = [
        each
        for each in run.entries
        if when in (each.kind, known.get(id(each), {}).get("at"))
    ]
    return points[spec.nth - 1] if len(points) >= spec.nth else None


def _begins(seen: Observation) -> bool:
    hook = seen.kind == "hook_enter" and seen.data["hook"] in PASSES
    return hook or seen.kind == "model_request"


def _made(run: RunView) -> set[str]:
    """Return the calls that the model made in a run."""
    answers = (each.message for each in run.iterations if each.message is not None)
    return {call.id for answer in answers for call in answer.tool_calls}


def _last_calls(messages: Sequence[Message]) -> tuple[list[str], list[Message]]:
    """Return the calls of the last answer that has some, and what stands after it."""
    for at in range(len(messages) - 1, -1, -1):
        calls = messages[at].tool_calls
        if calls:
            results = [each for each in messages[at + 1 :] if each.role == "tool"]
            return [each.id for each in calls], results
    return [], []


def _recorded(agent: AgentSpec) -> set[str]:
    """Return the labels of wrappers that put down when they are entered and left.

    Those that stop before what they wrap, and those that tell only the one, are none.
    """
    wraps = [*tool_wraps(agent)]
    models = [each.wrap_model for each in agent.handlers if each.wrap_model is not None]
    half = {w.record_enter for w in wraps} | {w.record for w in wraps if _stops(w)}
    both = {each.record for each in wraps} | {each.record for each in models}
    labels = both - half
    return {each for each in labels if each is not None}


def _stops(wrap: ToolWrapSpec) -> bool:
    """Tell whether a wrapper may end before it calls what it wraps."""
    ends = wrap.short_circuit, wrap.error, wrap.interrupt, wrap.ask
    return any(each is not None for each in ends)


def _streams(run: RunView) -> Counter[tuple[str, str | None]]:
    """Count the streams that gave a chunk, by whose they are."""
    found: Counter[tuple[str, str | None]] = Counter()
    fresh = False
    for each in run.entries:
        if each.kind == "model_request":
            fresh = True
        elif each.kind == "model_chunk" and fresh:
            fresh = False
            found["model", None] += 1
        elif each.kind == "tool_chunk":
            found["tool", each.call_id] = 1
    return found


def cancels(scenario: Scenario) -> bool:
    """Tell whether some run of a scenario is cancelled."""
    return any(run.cancel is not None for run in scenario.runs)


def left_open(run: RunView) -> list[Observation]:
    """Return what began in a run, hooks and tools, and did not end."""
    found: list[Observation] = []
    for each in run.entries:
        if each.kind in ENDS:
            if _is_around_model(each) and any(_who(e) == _who(each) for e in found):
                # Another attempt: the one before failed, which nobody has left.
                found = [e for e in found if not _is_around_model(e)]
            found.append(each)
        for at in range(len(found) - 1, -1, -1):
            if each.kind in ENDS[found[at].kind] and _who(found[at]) == _who(each):
                del found[at]
                break
    return found


def _is_around_model(seen: Observation) -> bool:
    return seen.data.get("hook") == "wrap_model"


def _who(seen: Observation) -> tuple[object, ...]:
    """Return whose entry it is: that of a hook, or of a tool."""
    if seen.kind in {"hook_enter", "hook_exit"}:
        data = seen.data
        return data["hook"], data["extension"], data["position"], seen.call_id
    return "tool", seen.call_id


def _effects(run: RunView) -> Iterator[tuple[Observation, Mapping[str, Any]]]:
    """Yield what operations of a run's extensions recorded."""
    for each in run.entries:
        if each.kind == "effect":
            yield each, cast("Mapping[str, Any]", each.data.get("data"))


CHECKS: Final = (
    Check(clause="RUN-023", decide=no_dangling_call, needs=CANCEL, meant=cancels),
    Check(clause="RUN-024", decide=streams_closed, needs=CANCEL, meant=cancels),
    Check(clause="RUN-025", decide=wrappers_left, needs=CANCEL, meant=cancels),
    Check(clause="RUN-026", decide=nothing_more, needs=CANCEL, meant=cancels),
)
