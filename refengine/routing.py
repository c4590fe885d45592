"""Where a run goes after the model answered and the after-hooks ran (contract MSG).

Every function here is told the profile: what decides is a posture (``route``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from refengine.errors import NoMessagesLeftError, RoutingError, UnansweredCallsError
from refengine.messages import History, Message, ToolCall
from refengine.profile import Profile

NOT_BEGUN: Final = "The run was cancelled before this call began."
NOT_ENDED: Final = "The run was cancelled before this call ended."
FAILED: Final = "This call failed, and then the run was cancelled."
"""What the model reads as the result of a call that has none, once a thread goes on."""


def next_calls(
    profile: Profile, response: Message, history: History, *, hooked: bool
) -> tuple[ToolCall, ...] | None:
    """Return the calls to run next; none are left if the run completes.

    None comes back if the model is asked again, because every call has its result.
    ``hooked`` tells that after-hooks ran. Raises NoMessagesLeftError or RoutingError.
    """
    last = history.last()
    if last is None and profile.after_leaves_none != "ignored":
        return _none_left(profile)
    if profile.route == "model_response":
        return _calls_left(response, last)
    if last is None:
        return response.tool_calls
    if profile.route == "last_left":
        return last.tool_calls if last.role == "assistant" else ()
    if not hooked:
        return response.tool_calls  # nobody can have answered them
    return _unanswered_calls(profile, history)


def answer_of(profile: Profile, response: Message, history: History) -> Message | None:
    """Return the answer of a run that completes."""
    last = history.last()
    if last is None:
        return response if profile.after_leaves_none == "ignored" else None
    if profile.answer != "last_assistant":
        return last
    if profile.route == "model_response":
        return response
    return last_assistant(history)


def last_assistant(history: History) -> Message | None:
    """Return the last assistant message: the answer, whatever was left after it."""
    last = history.last()
    if last is not None and last.role == "assistant":
        return last
    return next((m for m in reversed(tuple(history)) if m.role == "assistant"), None)


def refuse_unanswered(messages: Sequence[Message]) -> None:
    """Raise UnansweredCallsError if a call has no result, wherever that stands."""
    calls = [call for message in messages for call in message.tool_calls]
    missing = list(without_result(calls, messages)) if calls else []
    if missing:
        raise UnansweredCallsError(call.id for call in missing)


def _none_left(profile: Profile) -> tuple[ToolCall, ...]:
    if profile.after_leaves_none == "error":
        raise NoMessagesLeftError
    return ()


def _calls_left(response: Message, last: Message | None) -> tuple[ToolCall, ...]:
    """Route by the response, but take the calls from what the hooks left last."""
    if not response.tool_calls:
        return ()
    if last is None or last.role != "assistant":
        got = "nothing" if last is None else f"a {last.role} message"
        raise RoutingError("an assistant message", got)
    if not last.tool_calls:
        raise RoutingError("tool calls", "an assistant message without any")
    return last.tool_calls


def _unanswered_calls(
    profile: Profile, history: History
) -> tuple[ToolCall, ...] | None:
    """Return the calls of the last assistant message that have no result yet."""
    messages = tuple(history)
    at = len(messages) - 1
    while at >= 0 and messages[at].role != "assistant":
        at -= 1
    if at < 0:
        return _none_left(profile)
    calls = messages[at].tool_calls
    if profile.route == "unanswered_since":
        left = tuple(without_result(calls, messages[at:]))
        return None if calls and not left else left
    left = tuple(without_result(calls, messages))
    # That engine asks the model again only where a result stands last.
    return None if not left and messages[-1].role == "tool" else left


def without_result(
    calls: Iterable[ToolCall], messages: Iterable[Message]
) -> Iterator[ToolCall]:
    """Return those of the calls that have no result among the messages."""
    done = {each.tool_call_id for each in messages if each.role == "tool"}
    return (call for call in calls if call.id not in done)


def result_of(call: ToolCall, why: str) -> Message:
    """Return what stands for the result of a call that has none."""
    return Message(
        "tool",
        why,
        tool_call_id=call.id,
        name=call.name,
        extra={"is_error": True},
    )


def answered(history: History) -> History:
    """Return the history with a result for each call of its last answer.

    Those that are missing are put after those that are there.
    """
    at = len(history) - 1
    while at >= 0 and history[at].role != "assistant":
        at -= 1
    if at < 0:
        return history
    end = at + 1
    while end < len(history) and history[end].role == "tool":
        end += 1
    done = {each.tool_call_id for each in history[at + 1 : end]}
    missing = [call for call in history[at].tool_calls if call.id not in done]
    results = [result_of(call, NOT_BEGUN) for call in missing]
    if end == len(history):
        return with_results(history, results)
    return History((*history[:end], *results, *history[end:]))


def with_results(history: History, results: Sequence[Message]) -> History:
    """Return the history with these results at its end."""
    for result in results:
        history = history.appended(result)
    return history
