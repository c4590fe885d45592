"""INT and SER: what a run that goes on begins with, and from where (contract INT, §5).

What should be there again is taken from what the world saw before, and never from what
the engine wrote. A run that was cancelled while it was kept goes on as one whose
process ended: from its last step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.handed_back import comparable
from property_tests.checks.interrupts import RESUME
from property_tests.checks.kept_runs import (
    begun,
    cuts,
    interrupts,
    is_again,
    keeps,
    left_open,
    rows,
    runs_once,
    who,
)
from property_tests.view import BEFORE, Iteration, RunView
from refengine.messages import Message
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Observation

GIVEN: Final = "what is given to what is entered again"
HISTORY: Final = "the history with which a run goes on behind its calls"
STEP: Final = "a step of a kept run"
ONCE: Final = "what a run that was cancelled begins with when it goes on"
COUNTED: Final = "iterations of a run that was cancelled and went on"


def given_again(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that what is entered again is given just what it was given before."""
    for cut in cuts(case.played):
        anew = case.profile.resumed_iteration == "begins_again" and not cut.in_tools
        for each in () if anew else left_open(cut.before):
            again = next((e for e in cut.after.entries if _is_again(e, each)), None)
            if again is not None:
                yield Decision(GIVEN, _given(each), _given(again), again)
        first = _first_history(cut.after)
        if cut.in_tools and first is not None and comparable(case):
            messages, at = first
            had = cut.before.final
            yield Decision(HISTORY, had, messages[: len(had)], at)
            roles = [each.role for each in messages[len(had) :]]
            yield Decision(HISTORY, ["tool"] * len(roles), roles, at)


def steps_written(case: PlayedWorld) -> Iterator[Decision]:
    """Ask for a step where a run begins, calls tools, has their results, and ends.

    Nothing is asked of an engine that keeps its runs where the world does not look.
    """
    for run in case.played.runs:
        if run.spec.checkpoint is None and run.spec.resume is None:
            continue
        steps = [e for e in run.entries if _is_step(e)]
        if steps:
            yield from _steps_of(run, steps)


def goes_on_from_step(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that of a run that was cancelled no more than one step is done again."""
    for row in rows(case.played):
        for before, after in pairwise(row):
            if before.status == "cancelled" and before.iterations and after.end:
                yield from _after_cancellation(case, before, after)


def _after_cancellation(
    case: PlayedWorld, before: RunView, after: RunView
) -> Iterator[Decision]:
    now, first = before.iterations[-1], next(iter(_begun(after)), None)
    if first is None or before.spec.resume is not None or _have_ended(now):
        return
    if now.calls:
        kind = first.kind if first.call_id is None else "calls"
        yield Decision(ONCE, "calls", kind, first)
    elif now.request is not None or now.before:
        base = _base(now)
        history = _first_history(after)
        if base is not None and history is not None and comparable(case):
            yield Decision(ONCE, base, history[0], history[1])
    rest = now.calls and not first.data.get("hook")  # calls alone are not an iteration
    if after.status != "interrupted" and after.error is None:
        parts = len(before.iterations) - 1 + len(after.iterations)
        if not rest:
            got = after.end.data["iterations"] if after.end else None
            yield Decision(COUNTED, parts, got, after.end)


def _have_ended(now: Iteration) -> bool:
    """Tell whether all calls of an iteration may have ended, and it with them."""
    ended = [call.ends or call.errors for call in now.calls.values()]
    return bool(ended) and all(ended)


def _base(now: Iteration) -> Sequence[Message] | None:
    """Return the history that an iteration began with."""
    if now.before:
        return cast("Sequence[Message]", now.before[0].seen)
    return now.sent if not now.model_wraps else None


def _begun(run: RunView) -> list[Observation]:
    """Return what a run began, without hooks of a building."""
    built = {id(each.enter) for each in run.before_agent}
    return [each for each in begun(run) if id(each) not in built]


def _steps_of(run: RunView, steps: Sequence[Observation]) -> Iterator[Decision]:
    """Decide about each place of a run at which a step has to be written."""
    first = next(iter(_begun(run)), None)
    if run.spec.resume is None and first is not None:
        yield _step("before its first hook or request", steps, 0, first)
    for now in run.iterations:
        calls = [e for e in now.entries if e.call_id is not None and e.kind != "event"]
        if now.response is not None and calls:
            where = "between the model and the calls it asked for"
            yield _step(where, steps, now.response.seq, calls[0])
        if calls and now.number < len(run.iterations):
            later = run.iterations[now.number].entries[0]
            yield _step("behind the results of a message", steps, calls[-1].seq, later)
    if run.end is not None and run.status in {"completed", "returned_directly"}:
        last = [e for e in steps if e.seq < run.end.seq][-1]
        yield Decision(f"{STEP} at its end", run.final, last.data["messages"], last)
    if run.end is not None and interrupts(run):
        asked = [each.data["payload"] for each in interrupts(run)]
        last = [e for e in steps if e.seq < run.end.seq][-1]
        yield Decision(f"{STEP} where it asks", asked, last.data["pending"], last)


def _step(
    where: str, steps: Sequence[Observation], after: int, before: Observation
) -> Decision:
    found = any(after <= each.seq < before.seq for each in steps)
    return Decision(f"{STEP} {where}", expected=True, got=found, at=before)


def _is_step(seen: Observation) -> bool:
    return seen.kind == "checkpoint" and seen.data["op"] == "write"


def _given(seen: Observation) -> object:
    """Return what a hook, a wrapper or a tool was given."""
    if seen.kind == "tool_start":
        return [seen.data["name"], seen.data["arguments"]]
    return seen.data.get("seen")


def _is_again(seen: Observation, first: Observation) -> bool:
    return seen.kind == first.kind and is_again(seen) and who(seen) == who(first)


def _first_history(run: RunView) -> tuple[Sequence[Message], Observation] | None:
    """Return the first messages that a hook, a wrapper or the model is given."""
    for each in run.entries:
        hook = each.data.get("hook") if each.kind == "hook_enter" else None
        if hook in BEFORE:
            return cast("Sequence[Message]", each.data["seen"]), each
        if hook == "wrap_model":
            seen = cast("Mapping[str, Sequence[Message]]", each.data["seen"])
            return seen["messages"], each
        if each.kind == "model_request":
            return cast("Sequence[Message]", each.data["messages"]), each
    return None


def _kept_and_cancelled(scenario: Scenario) -> bool:
    return any(run.cancel and run.checkpoint for run in scenario.runs)


CHECKS: Final = (
    Check(clause="INT-021", decide=given_again, needs=RESUME, meant=runs_once),
    Check(clause="SER-013", decide=steps_written, needs=RESUME, meant=keeps),
    Check(
        clause="SER-014",
        decide=goes_on_from_step,
        needs=RESUME | {"cancellation"},
        meant=_kept_and_cancelled,
    ),
)
