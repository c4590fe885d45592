"""RUN: the history that a cancelled run hands back.

It is what the run had before the part in which it stopped, a pass of hooks, the model,
the calls of a message, and what had ended of that part: the whole answer, and the
results of calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.cancelling import CANCEL, cancelled, cancels, left_open
from property_tests.checks.routes import response_of
from property_tests.checks.specs import keeps_ids, tool_wraps
from property_tests.view import AFTER, BEFORE, HookView, Iteration, RunView, View
from refengine.messages import Message

NO_ANSWER: Final = "a run that did not come to its end has no answer"
CANCELLED: Final = "what a cancelled run hands back: its history as far as it came"
RESULTS: Final = "results that a cancelled run hands back, one for each call"
ENDED: Final = "the result of a call that had ended when its run was cancelled"

Messages: TypeAlias = "Sequence[Message]"


def of_cancelled(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a cancelled run keeps what it had, and what ended of its last part."""
    for run, _ in cancelled(case):
        if run.status != "cancelled" or run.spec.resume is not None:
            continue
        yield Decision(NO_ANSWER, None, run.answer, run.end)
        base = _when_cancelled(case.played, run) if comparable(case) else None
        if base is None:
            continue
        yield Decision(CANCELLED, base, run.final[: len(base)], run.end)
        yield from _results(run, base)


def comparable(case: PlayedWorld) -> bool:
    """Tell whether a profile has all that hooks left, and the instruction, in it."""
    profile = case.profile
    kept, place = profile.before_model_edits, profile.instruction_place
    return kept == "kept" and place == "in_history"


def _results(run: RunView, base: Messages) -> Iterator[Decision]:
    """Decide about what stands behind the history: results of its last message."""
    calls = base[-1].tool_calls if base else ()
    got = run.final[len(base) :]
    if not keeps_ids(run.agent):
        return  # what becomes of another id is a posture
    yield Decision(
        RESULTS,
        [("tool", call.id) for call in calls],
        [(each.role, each.tool_call_id) for each in got],
        run.end,
    )
    ids = [call.id for call in calls]
    if any(tool_wraps(run.agent)) or len({*ids}) < len(ids):
        return
    made = run.iterations[-1].calls if run.iterations else {}
    for each in got:
        ends = made[each.tool_call_id or ""].ends if each.tool_call_id in made else []
        if ends:
            text = str(ends[-1].data["result"])
            yield Decision(ENDED, text, each.content, ends[-1])


def _when_cancelled(view: View, run: RunView) -> Messages | None:
    """Return the history of a run when it was cancelled, without results of its calls.

    None if nothing tells, as where a stream may have come to its end or not.
    """
    now = _last(run)
    if now is None:
        return None
    if now.calls and not run.after_agent:
        return _with_response(view, run, now)
    passed = _before_pass(run, _open_hook(run))
    if passed is not None:
        return passed
    return _asked_with(now) if now.response is None and not now.after else None


def _last(run: RunView) -> Iteration | None:
    return run.iterations[-1] if run.iterations else None


def _open_hook(run: RunView) -> str | None:
    """Return the innermost hook of a pass, or around the model, that was not left."""
    opened = [e for e in left_open(run) if e.call_id is None]
    return str(opened[-1].data.get("hook")) if opened else None


def _before_pass(run: RunView, hook: str | None) -> Messages | None:
    """Return the history before the pass of a hook began; None for one of no pass."""
    now = _last(run)
    hooks: Sequence[HookView] = run.after_agent if hook == "after_agent" else ()
    if now is not None and hook in BEFORE | AFTER:
        hooks = now.before if hook in BEFORE else now.after
    return _seen(hooks[0]) if hooks else None


def _seen(hook: HookView) -> Messages:
    return cast("Sequence[Message]", hook.seen)


def _asked_with(now: Iteration) -> Messages | None:
    """Return the history that the model was asked with, before wrappers edited it."""
    if now.before:
        return cast("Sequence[Message] | None", now.before[-1].left)
    if now.model_wraps:
        return cast("Sequence[Message]", now.model_wraps[0].seen["messages"])
    return now.sent


def _with_response(view: View, run: RunView, now: Iteration) -> Messages | None:
    """Return the history with the message whose calls were made, and no results."""
    if now.after:
        return cast("Sequence[Message] | None", now.after[-1].left)
    asked, response = _asked_with(now), response_of(view, run, now)
    return None if asked is None or response is None else (*asked, response)


CHECKS: Final = (
    Check(clause="RUN-027", decide=of_cancelled, needs=CANCEL, meant=cancels),
)
