"""Calls and their responses side by side, whenever the responses came.

A tool that runs long answers late, and more than once. A model wants each call with one
answer behind it. Two passes see to that: one for a response that has just come, and one
for the whole history. Then what has no partner may be dropped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from compat.dialects.flow.content import Content, FunctionResponse, Part
from compat.dialects.flow.errors import NoCallFoundError, ResponsesMixedError
from compat.dialects.flow.foreign import USER

if TYPE_CHECKING:
    from compat.dialects.flow.events import Event
    from compat.dialects.flow.profile import FlowProfile

Places: TypeAlias = "Mapping[tuple[str, int], Sequence[int]]"
"""Where the responses to a call stand, by its id and the place of its event."""


def rearranged(events: Sequence[Event], profile: FlowProfile) -> Sequence[Event]:
    """Return the events with each call's responses behind it, in one event.

    Raises NoCallFoundError or ResponsesMixedError for a last event whose responses
    have no calls, or have those of several events, under profiles that refuse these.
    """
    if profile.orphan_response == "dropped":
        events = _without_orphans(events)
    if len(events) > 1 and events[-1].responses:
        split = profile.mixed_responses == "split"
        events = _split_latest(events) if split else _latest(events, profile)
    if len(events) > 1 or profile.lone_response == "dropped":
        events = _history(events, profile)
    return _answered(events) if profile.unanswered_call == "dropped" else events


def _with_parts(event: Event, parts: Iterable[Part]) -> Event:
    role = "" if event.content is None else event.content.role
    return replace(event, content=Content(role, tuple(parts)))


def _parts(event: Event) -> tuple[Part, ...]:
    return () if event.content is None else event.content.parts


def _call_ids(event: Event) -> list[str]:
    return [each.id for each in event.calls]


def _response_ids(event: Event) -> list[str]:
    return [each.id for each in event.responses]


def merged_late(events: Sequence[Event]) -> Event:
    """Return the events with responses to one event of calls as one.

    The first stays where it is. A later response to the same call takes the place of
    the earlier one; everything else is put behind.
    """
    parts = list(_parts(events[0]))
    places = {part.response.id: at for at, part in enumerate(parts) if part.response}
    for part in (each for event in events[1:] for each in _parts(event)):
        at = places.get(part.response.id) if part.response else None
        if at is not None:
            parts[at] = part
            continue
        if part.response:
            places[part.response.id] = len(parts)
        parts.append(part)
    return _with_parts(events[0], parts)


# A response that has just come


def _latest(events: Sequence[Event], profile: FlowProfile) -> Sequence[Event]:
    """Bring the last event's responses behind their calls; what is between is gone."""
    wanted = set(_response_ids(events[-1]))
    if wanted.intersection(_call_ids(events[-2])):
        return events
    at = _last_place(events[:-1], lambda each: bool(wanted & {*_call_ids(each)}))
    if at is None:
        raise NoCallFoundError(sorted(wanted))
    calls = set(_call_ids(events[at]))
    if not wanted <= calls:
        raise ResponsesMixedError(sorted(calls), sorted(wanted))
    between = events[at + 1 : -1]
    related = [each for each in between if calls.intersection(_response_ids(each))]
    kept = _unrelated(between, calls) if profile.unrelated_pairs == "kept" else ()
    return (*events[: at + 1], *kept, merged_late([*related, events[-1]]))


def _unrelated(between: Sequence[Event], calls: set[str]) -> list[Event]:
    """Return the calls that were made meanwhile, and the responses to them."""
    return [
        each
        for each in between
        if each.calls or (each.responses and not calls & {*_response_ids(each)})
    ]


def _last_place(events: Sequence[Event], fits: Callable[[Event], bool]) -> int | None:
    return next((at for at in reversed(range(len(events))) if fits(events[at])), None)


def _split_latest(events: Sequence[Event]) -> Sequence[Event]:
    """Bring each of the last event's responses behind its own call."""
    owned: dict[int, list[Part]] = defaultdict(list)
    rest: list[Part] = []
    for part in _parts(events[-1]):
        if part.response is None:
            rest.append(part)
            continue
        owner = _owner(events[:-1], part.response)
        if owner is None:
            raise NoCallFoundError([part.response.id])
        owned[owner].append(part)
    last = max(owned)
    owned[last].extend(rest)
    if len(owned) == 1 and last == len(events) - 2:
        return events
    result: list[Event] = []
    for at in range(last + 1):
        kept = _without_owned(events, at, owned)
        if kept is not None:
            result.append(kept)
        if at in owned:
            result.append(_responses_of(events, at, owned[at]))
    return result


def _owner(events: Sequence[Event], response: FunctionResponse) -> int | None:
    """Return the place of the last event that has the call of a response."""

    def fits(event: Event) -> bool:
        return any(
            each.id == response.id and (each.id or each.name == response.name)
            for each in event.calls
        )

    return _last_place(events, fits)


def _without_owned(
    events: Sequence[Event], at: int, owned: Mapping[int, object]
) -> Event | None:
    """Return the event without responses that will stand elsewhere, if any is left."""
    event = events[at]
    if not event.responses:
        return event
    kept = [
        part
        for part in _parts(event)
        if part.response is None or _owner(events[:at], part.response) not in owned
    ]
    return _with_parts(event, kept) if any(p.response or p.call for p in kept) else None


def _responses_of(events: Sequence[Event], call: int, last: Sequence[Part]) -> Event:
    """Return all responses to the calls of an event as one, the last ones ``last``."""
    found: list[Event] = []
    for at in range(call + 1, len(events) - 1):
        event = events[at]
        parts = [
            part
            for part in _parts(event)
            if (
                _owner(events[:at], part.response) == call
                if part.response
                else not event.calls
            )
        ]
        if any(part.response for part in parts):
            found.append(_with_parts(event, parts))
    return merged_late([*found, _with_parts(events[-1], last)])


# The whole history


def _history(events: Sequence[Event], profile: FlowProfile) -> Sequence[Event]:
    """Put behind each event of calls the last responses to them, and drop the others.

    A response whose call is not there is dropped as well.
    """
    places = _places(events, profile)
    superseded = _superseded(events, places, profile)
    result: list[Event] = []
    for at, event in enumerate(events):
        if event.responses or at in superseded:
            continue
        result.append(event)
        last = {key[0]: places[key][-1] for key in _keys(event, at) if key in places}
        late = [
            _own_part(events[each], {key for key in last if last[key] == each}, profile)
            for each in sorted({*last.values()})
        ]
        if late:
            result.append(late[0] if len(late) == 1 else merged_late(late))
    return result


def _own_part(event: Event, own: set[str], profile: FlowProfile) -> Event:
    """Return of a response event what an event of calls gets: all, or what it asked.

    What is not a response goes with the first one of the event.
    """
    ids = _response_ids(event)
    if profile.shared_response == "repeated" or own.issuperset(ids):
        return event
    kept = [
        part
        for part in _parts(event)
        if (ids[0] if part.response is None else part.response.id) in own
    ]
    return _with_parts(event, kept)


def _keys(event: Event, at: int) -> list[tuple[str, int]]:
    return [(each, at) for each in _call_ids(event)]


def _places(events: Sequence[Event], profile: FlowProfile) -> Places:
    """Return where the responses to each call stand, in order."""
    called: dict[str, list[int]] = defaultdict(list)
    for at, event in enumerate(events):
        for each in () if event.responses else _call_ids(event):
            called[each].append(at)
    places: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at, event in enumerate(events):
        for each in _response_ids(event):
            for owner in _owners(called.get(each, ()), at, profile):
                places[each, owner].append(at)
    return places


def _owners(calls: Sequence[int], response: int, profile: FlowProfile) -> Sequence[int]:
    """Return which of the calls with its id a response answers."""
    if profile.reused_call_ids == "last_response" or len(calls) < 2:
        return calls
    return [calls[max(bisect_left(calls, response) - 1, 0)]]


def _superseded(
    events: Sequence[Event], places: Places, profile: FlowProfile
) -> set[int]:
    """Return where the model said something on news that later news took back."""
    found: set[int] = set()
    for each in places.values() if profile.superseded_text == "dropped" else ():
        for at, later in pairwise(each):
            between = range(at + 1, later)
            if _one_voice(events[at], events[later]) and all(
                _only_text(events[place], events[at].invocation_id) for place in between
            ):
                found.update(between)
    return found


def _one_voice(earlier: Event, later: Event) -> bool:
    return (
        earlier.invocation_id == later.invocation_id
        and earlier.author == later.author
        and not earlier.actions.requested_confirmations
    )


def _only_text(event: Event, invocation_id: str) -> bool:
    return (
        event.invocation_id == invocation_id
        and event.author != USER
        and event.content is not None
        and event.content.role == "model"
        and not event.calls
        and any(part.text for part in event.content.parts)
    )


# What has no partner


def _without_orphans(events: Sequence[Event]) -> list[Event]:
    """Drop responses that no call before them asked for."""
    seen: set[tuple[str, str]] = set()
    kept: list[Event] = []
    for event in events:
        parts = [
            part
            for part in _parts(event)
            if part.response is None or _key(part.response) in seen
        ]
        if len(parts) == len(_parts(event)):
            kept.append(event)
        elif parts:
            kept.append(_with_parts(event, parts))
        seen.update((each.id, "" if each.id else each.name) for each in event.calls)
    return kept


def _key(response: FunctionResponse) -> tuple[str, str]:
    """Return what a response and its call share: the id, or without one the name."""
    return response.id, "" if response.id else response.name


def _answered(events: Sequence[Event]) -> list[Event]:
    """Drop calls without a response, but not those whose tools still run."""
    known = {each for event in events for each in _response_ids(event)}
    known.update(each for event in events for each in event.long_running_ids)
    kept: list[Event] = []
    for event in events:
        parts = [
            part
            for part in _parts(event)
            if part.call is None or not part.call.id or part.call.id in known
        ]
        if len(parts) == len(_parts(event)):
            kept.append(event)
        elif parts:
            kept.append(_with_parts(event, parts))
    return kept
