"""ERR: what a run that failed hands back is its history before what failed began.

An engine that raises leaves its door nothing but what the run was given, so a result
that holds just that, or nothing, is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.kept_runs import left_open
from property_tests.view import AFTER, BEFORE, Iteration, RunView
from refengine.messages import Message

KEPT: Final = "what a failed run hands back: its history before what failed began"


def kept(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a failed run keeps all that came before what failed, and no more."""
    profile = case.profile
    if (
        profile.before_model_edits != "kept"
        or profile.instruction_place != "in_history"
    ):
        return
    for run in case.played.runs:
        if run.status != "error" or run.end is None or run.spec.resume is not None:
            continue
        given_back = not run.final or [*run.final] == [*run.given]
        expected = None if given_back else _before_failure(run)
        if expected is not None:
            yield Decision(KEPT, expected, run.final, run.end)


def _before_failure(run: RunView) -> Sequence[Message] | None:
    """Return the history before what failed began; None if nothing tells."""
    if not run.iterations or run.agent.retry is not None or run.after_agent:
        return None
    now = run.iterations[-1]
    hooks = {str(e.data.get("hook")) for e in left_open(run) if e.call_id is None}
    if hooks & BEFORE:
        return cast("Sequence[Message]", now.before[0].seen)
    if hooks & AFTER:
        return cast("Sequence[Message]", now.after[0].seen)
    if now.model_error is not None and now.response is None:
        return _asked_with(now)
    # Calls of a run that has used up its iterations ended, whatever was caught in them.
    used_up = run.failed_as == "MaxIterationsExceededError"
    if not used_up and any(call.errors for call in now.calls.values()):
        return _with_response(now)
    return None


def _asked_with(now: Iteration) -> Sequence[Message] | None:
    """Return the history that the model was asked with, before wrappers edited it."""
    if now.before:
        return cast("Sequence[Message] | None", now.before[-1].left)
    if now.model_wraps:
        return cast("Sequence[Message]", now.model_wraps[0].seen["messages"])
    return now.sent


def _with_response(now: Iteration) -> Sequence[Message] | None:
    """Return the history with the message whose calls were made, and no results."""
    if now.after:
        return cast("Sequence[Message] | None", now.after[-1].left)
    asked = _asked_with(now)
    if asked is None or now.message is None or now.model_wraps:
        return None
    return (*asked, now.message)


CHECKS: Final = (Check(clause="ERR-031", decide=kept),)
