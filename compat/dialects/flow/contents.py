"""The contents of a request: what of a session the model of an agent is sent.

Events that it must not see are left out, what other agents did is told by the user,
calls and responses are brought together, and what means nothing to a model is taken
away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from compat.dialects.flow.content import Content, Part, text_content
from compat.dialects.flow.foreign import USER, is_foreign, told_by_user
from compat.dialects.flow.rearranging import rearranged

if TYPE_CHECKING:
    from compat.dialects.flow.events import Event
    from compat.dialects.flow.profile import FlowProfile

CREDENTIAL: Final = "adk_request_credential"
CONFIRMATION: Final = "adk_request_confirmation"
INPUT: Final = "adk_request_input"
"""Calls that the flow makes itself, to ask somebody outside."""

TRANSFER: Final = "transfer_to_agent"

OWN_ID: Final = "adk-"
"""What ids begin with that the flow gave, since the model gave none."""

_HIDDEN: Final[Mapping[str, frozenset[str]]] = {
    "credential": frozenset((CREDENTIAL,)),
    "and_confirmation": frozenset((CREDENTIAL, CONFIRMATION)),
    "and_input": frozenset((CREDENTIAL, CONFIRMATION, INPUT)),
}
_GO_ON: Final = (
    "Continue processing previous requests as instructed. Exit or provide a summary if"
    " no more outputs are needed."
)


def contents_of(
    events: Sequence[Event],
    agent: str,
    profile: FlowProfile,
    *,
    branch: str = "",
    include: Literal["default", "none"] = "default",
) -> tuple[Content, ...]:
    """Return what the model of ``agent`` is sent of a session's events.

    ``include`` none sends only the turn that the agent is in. Raises NoCallFoundError
    or ResponsesMixedError for a last event whose responses are to no call of it.
    """
    if include == "none":
        events = _current_turn(events, agent, branch, profile)
    seen = [each for each in events if is_visible(each, branch, profile)]
    told = list(_with_foreign_told(seen, agent, profile))
    found = (_sent(each, profile) for each in rearranged(told, profile))
    return tuple(each for each in found if each is not None)


def ending_with_user(
    contents: Sequence[Content], profile: FlowProfile
) -> Sequence[Content]:
    """Return the contents with a turn of the user at the end, if the profile adds one.

    A model that spoke last may answer with nothing. Nothing at all stays nothing.
    """
    if profile.last_content == "as_it_is" or not contents or contents[-1].role == USER:
        return contents
    return (*contents, text_content(USER, _GO_ON))


def is_visible(event: Event, branch: str, profile: FlowProfile) -> bool:
    """Tell whether the model of an agent in this branch is shown an event."""
    content = event.content
    if content is None or not content.role or not content.parts:
        return False
    if profile.silent_event == "hidden" and all(map(_silent, content.parts)):
        return False
    hidden = _HIDDEN[profile.hidden_calls]
    names = {each.name for each in event.calls} | {x.name for x in event.responses}
    return in_branch(event.branch, branch) and not names & hidden


def in_branch(event: str, invocation: str) -> bool:
    """Tell whether an event of one branch is seen in another: an ancestor's is.

    No branch at all sees everything and is seen by all.
    """
    return not (event and invocation) or f"{invocation}.".startswith(f"{event}.")


def _silent(part: Part) -> bool:
    """Tell whether a part says, calls and shows nothing; a thought is for nobody."""
    if part.call is not None or part.response is not None:
        return False
    held = (part.blob, part.file, part.code, part.code_result)
    return part.thought or not (part.text or any(each is not None for each in held))


def _with_foreign_told(
    events: Sequence[Event], agent: str, profile: FlowProfile
) -> Iterable[Event]:
    callers = {each.id: event.author for event in events for each in event.calls}
    for event in events:
        if not _is_others(event, agent, callers, profile):
            yield event
        elif (told := told_by_user(event, profile)) is not None:
            yield told


def _is_others(
    event: Event, agent: str, callers: Mapping[str, str], profile: FlowProfile
) -> bool:
    if is_foreign(event.author, agent):
        return True
    return profile.foreign_responses == "by_call" and any(
        each.id and is_foreign(callers.get(each.id, agent), agent)
        for each in event.responses
    )


def _sent(event: Event, profile: FlowProfile) -> Content | None:
    """Return an event's content as it is sent; None where nothing of it is left."""
    content = event.content
    if content is None:
        return None
    parts = map(_without_own_id, content.parts)
    if profile.empty_parts == "kept":
        return Content(content.role, tuple(parts))
    kept = tuple(each for each in parts if not each.empty)
    return Content(content.role, kept) if kept else None


def _without_own_id(part: Part) -> Part:
    if part.call is not None and part.call.id.startswith(OWN_ID):
        return replace(part, call=replace(part.call, id=""))
    if part.response is not None and part.response.id.startswith(OWN_ID):
        return replace(part, response=replace(part.response, id=""))
    return part


# The current turn


def _current_turn(
    events: Sequence[Event], agent: str, branch: str, profile: FlowProfile
) -> Sequence[Event]:
    """Return the events from the last one that asks the agent something on."""
    starts = _STARTS[profile.turn_start]
    pending: set[str] = set()
    known = {each.id for event in events for each in event.calls}
    for at in range(len(events) - 1, -1, -1):
        event = events[at]
        pending.difference_update(each.id for each in event.calls)
        if _submitted(event):
            pending.update(known & {each.id for each in event.responses} - {""})
        asks = event.author == USER or is_foreign(event.author, agent)
        if asks and starts(event, branch, profile, bool(pending)):
            return events[at:]
    return events if profile.no_pivot == "everything" else ()


def _submitted(event: Event) -> bool:
    """Tell whether somebody posted the result of a tool that runs long."""
    return event.author == USER and bool(event.responses)


def _any(event: Event, branch: str, profile: FlowProfile, pending: bool) -> bool:
    del event, branch, profile, pending
    return True


def _in_branch(event: Event, branch: str, profile: FlowProfile, pending: bool) -> bool:
    del profile, pending
    return in_branch(event.branch, branch)


def _visible(event: Event, branch: str, profile: FlowProfile, pending: bool) -> bool:
    del pending
    return is_visible(event, branch, profile)


def _asking(event: Event, branch: str, profile: FlowProfile, pending: bool) -> bool:
    """Tell whether it is a question: no transfer, no result, no open result behind."""
    transfers = event.actions.transfer_to_agent or any(
        each.name == TRANSFER for each in event.calls
    )
    return (
        is_visible(event, branch, profile)
        and not transfers
        and not _submitted(event)
        and not pending
    )


_STARTS: Final[Mapping[str, Callable[[Event, str, FlowProfile, bool], bool]]] = {
    "any_event": _any,
    "branch_event": _in_branch,
    "visible_event": _visible,
    "asking_event": _asking,
}
