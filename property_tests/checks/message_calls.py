"""The calls of one message: in which order they stand there, and how each ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from property_tests.checks.specs import keeps_ids, tool_wraps
from property_tests.remembering import each_once
from property_tests.view import Call, Iteration, RunView, View
from refengine.messages import Message
from refengine.testing.scenario import AgentSpec
from refengine.testing.trace import Observation

LAST_LEFT: Final = frozenset(("last_left", "unanswered_since", "unanswered_ever"))
"""The routes that go by what the after-hooks left."""
WORK: Final = frozenset(
    (
        *("tool_start", "tool_chunk", "tool_end", "tool_error"),
        *("hook_enter", "hook_exit", "effect"),
    )
)
"""What is observed of a call while it is being made."""


@dataclass(frozen=True, slots=True)
class BegunCalls:
    """The calls of one message that were begun, in the order of the message.

    ``asked`` are all ids in the message, also those that were not begun.
    """

    run: RunView
    now: Iteration
    calls: Sequence[Call]
    requested: Sequence[str]


@each_once
def batches(view: View) -> Iterator[BegunCalls]:
    """Yield the calls of each message, where it is known which is which.

    It cannot where a message has an id twice, or a call was given another id.
    """
    if not all(map(keeps_ids, view.scenario.all_agents)):
        return
    for run in view.runs:
        for now in run.iterations:
            requested = _requested(now, view.profile.route in LAST_LEFT)
            begun = [each for each in now.calls.values() if _work(each)]
            known = {each.id for each in begun} <= set(requested)
            if begun and known and len(set(requested)) == len(requested):
                begun.sort(key=lambda each: requested.index(each.id))
                yield BegunCalls(run, now, begun, requested)


def _requested(now: Iteration, by_hooks: bool) -> list[str]:
    """Return the ids of the calls that the message asks for which decided the route."""
    message = now.message
    left = [hook.left for hook in now.after if hook.exit is not None]
    if left and by_hooks:
        history = cast("Sequence[Message]", left[-1])
        of_model = [each for each in history if each.role == "assistant"]
        message = of_model[-1] if of_model else None
    return [] if message is None else [call.id for call in message.tool_calls]


def _work(call: Call) -> list[Observation]:
    """Return what was observed of a call while it was made."""
    return [each for each in call.entries if each.kind in WORK]


def began(call: Call) -> int:
    """Return the place in the trace at which a call was begun."""
    return _work(call)[0].seq


def at_work(calls: Sequence[Call]) -> list[Observation]:
    """Return what was observed of these calls, in the order of the trace."""
    found = (each for call in calls for each in _work(call))
    return sorted(found, key=lambda each: each.seq)


def after_start(call: Call, start: Observation) -> Observation | None:
    """Return what was next observed of a call, after an execution of its tool began."""
    return next((each for each in _work(call) if each.seq > start.seq), None)


def opened(call: Call) -> bool:
    """Tell whether a call came out of its onion, with a result or an open stream."""
    if call.hooks:
        return call.hooks[0].exit is not None
    if is_invoked(call):
        return bool(call.ends)
    return any(each.kind == "tool_chunk" for each in call.entries)


def sound(call: Call) -> bool:
    """Tell whether a call certainly succeeded: then it has an event."""
    return opened(call) and (is_invoked(call) or not call.errors)


def failed(call: Call) -> bool:
    """Tell whether a call ended with an error, at once or in its stream.

    A stream may fail before its consumer has come to it, and then has no event.
    """
    if not opened(call):
        return True
    broken = any("stream_error" in each.data for each in call.events)
    return broken or (not sound(call) and not call.events)


def is_invoked(call: Call) -> bool:
    """Tell whether every execution of its tool was to give the result in one piece."""
    return all(each.data.get("mode") == "invoke" for each in call.starts)


def factories_fail(agent: AgentSpec) -> bool:
    """Tell whether a wrapper cannot be made, so that a call leaves no sign of it."""
    return any(each.factory_error is not None for each in tool_wraps(agent))
