"""What several events of one step become: one event, with one set of actions.

The calls of a response run one by one or at the same time, each with an event of its
own; what the session keeps is one event. The merge of its actions is the left fold of
the merge of two, in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from compat.dialects.flow.content import Content, Part
from compat.dialects.flow.events import Actions, Event

if TYPE_CHECKING:
    from compat.dialects.flow.profile import FlowProfile
    from refengine.messages import Json


def is_final(event: Event, profile: FlowProfile) -> bool:
    """Tell whether an event ends the turn of its agent.

    An event without content does. One with a trailing result of code does not, since
    the model has to go on from it.
    """
    if event.actions.skip_summarization or event.long_running_ids:
        return True
    if event.partial or event.calls:
        return False
    if profile.error_event == "final" and event.error_code:
        return True
    return not event.responses and not _ends_in_code(event)


def _ends_in_code(event: Event) -> bool:
    parts = event.content.parts if event.content is not None else ()
    return bool(parts) and parts[-1].code_result is not None


def merge_actions(
    given: Iterable[Actions | None], profile: FlowProfile
) -> Actions | None:
    """Return the actions of several calls as one: the left fold of ``merge_two``.

    None stands for a call without any; nothing but such, or nothing at all, gives None.
    """
    acting = [each for each in given if each is not None]
    if not acting:
        return None
    return reduce(lambda base, later: merge_two(base, later, profile), acting)


def merge_two(base: Actions, later: Actions, profile: FlowProfile) -> Actions:
    """Return the actions of two calls as one, ``later`` being that of the later call.

    Of the state, mappings are merged into each other and any other value of the later
    call takes the place of the earlier one, a list too.
    """
    return Actions(
        state_delta=_merged_json(base.state_delta, later.state_delta),
        artifact_delta=_ARTIFACTS[profile.artifacts_merge](
            base.artifact_delta, later.artifact_delta
        ),
        requested_confirmations={
            **base.requested_confirmations,
            **later.requested_confirmations,
        },
        skip_summarization=_flag(
            base.skip_summarization, later.skip_summarization, profile
        ),
        transfer_to_agent=later.transfer_to_agent or base.transfer_to_agent,
        escalate=_flag(base.escalate, later.escalate, profile),
    )


def said_flags(actions: Actions, profile: FlowProfile) -> Actions:
    """Return the actions of a call; where any set flag counts, False says nothing."""
    if profile.flags_merge == "last":
        return actions
    return replace(
        actions,
        skip_summarization=actions.skip_summarization or None,
        escalate=actions.escalate or None,
    )


def merge_responses(events: Sequence[Event], profile: FlowProfile) -> Event | None:
    """Return the events of several calls as one: the first, with all parts and actions.

    One event stays as it is. The parts stand in the order of the calls, whichever of
    them was done first. An event without content counts for nothing.
    """
    if len(events) == 1:
        return events[0]
    telling = [each for each in events if each.content is not None]
    if not telling:
        return None
    parts = [part for each in telling for part in _parts(each)]
    actions = merge_actions((each.actions for each in telling), profile)
    return replace(
        telling[0],
        content=Content("user", tuple(parts)),
        actions=Actions() if actions is None else actions,
    )


def _parts(event: Event) -> Sequence[Part]:
    return () if event.content is None else event.content.parts


def _flag(base: bool | None, later: bool | None, profile: FlowProfile) -> bool | None:
    if profile.flags_merge == "last":
        return base if later is None else later
    return base or later


def _merged_json(
    base: Mapping[str, Json], later: Mapping[str, Json]
) -> dict[str, Json]:
    merged = dict(base)
    for key, value in later.items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged_json(known, value)
        else:
            merged[key] = value
    return merged


def _first(base: Mapping[str, int], _: Mapping[str, int]) -> Mapping[str, int]:
    return base


def _newest(base: Mapping[str, int], later: Mapping[str, int]) -> Mapping[str, int]:
    return {
        name: max(each[name] for each in (base, later) if name in each)
        for name in {**base, **later}
    }


def _last(base: Mapping[str, int], later: Mapping[str, int]) -> Mapping[str, int]:
    return {**base, **later}


_ARTIFACTS = {"first": _first, "newest": _newest, "last": _last}
