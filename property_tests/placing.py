"""Events, each in the iteration that it tells of, however late the consumer took it.

An engine may run ahead of its consumer: then an event is observed when the next
iteration has begun, or several have. What an event tells of is known all the same, by
the order of the events among themselves: every response has one, and those of its
calls' results follow it before that of the next response.

Where an engine is at fault there may be too many events, or too few. Then each stays
where it was observed, as far as that is possible: a check misses it there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from property_tests.view import Iteration, RunView, View, call_of
from refengine.testing.trace import Observation


def place_events(found: View) -> None:
    """Put the events of each run into the iterations that they tell of."""
    for run in found.runs:
        told = dict(_answers(run))
        for seen, at, to in _moves(run, told):
            _take_out(run.iterations[at], seen)
            _put_in(run.iterations[to], seen)


def _answers(run: RunView) -> Iterator[tuple[int, int]]:
    """Yield the place of each event of a response, and the iteration it tells of.

    From the last one on each tells of the last iteration before it that has a response
    and no event of its own.
    """
    events = [
        (seen.seq, at)
        for at, now in enumerate(run.iterations)
        for seen in now.model_events
    ]
    places = [at for _, at in events]
    given = [at for at, now in enumerate(run.iterations) if now.response is not None]
    too_many = len(set(places)) < len(places) or not set(places) <= set(given)
    if set(given) <= set(places) or not too_many:
        yield from events
        return
    free = given
    for seq, at in reversed(events):
        possible = [each for each in free if each <= at]
        to = possible[-1] if possible else at
        free = [each for each in free if each < to]
        yield seq, to


def _moves(
    run: RunView, told: dict[int, int]
) -> Iterator[tuple[Observation, int, int]]:
    """Yield each event that is to be moved, from where and to where."""
    places = [
        (seen, at)
        for at, now in enumerate(run.iterations)
        for seen in now.entries
        if seen.kind == "event"
    ]
    last, done = 0, defaultdict[int, list[str | None]](list)
    for seen, at in sorted(places, key=lambda each: each[0].seq):
        to = at
        if seen.seq in told:
            last = to = told[seen.seq]
        elif at > last and _is_owed(run, seen, last, at, done[last]):
            to = last
        if seen.seq not in told:
            done[to].append(seen.call_id)
        if to != at:
            yield seen, at, to


def _is_owed(
    run: RunView, seen: Observation, to: int, at: int, told: Sequence[str | None]
) -> bool:
    """Tell whether an iteration owes the event of a result, which came later on.

    Where a call was given another id the event may be under that one.
    """
    ids = _asked(run.iterations[to])
    if seen.call_id in ids:
        return told.count(seen.call_id) < ids.count(seen.call_id)
    return seen.call_id not in _asked(run.iterations[at]) and len(told) < len(ids)


def _asked(now: Iteration) -> list[str]:
    """Return the ids of the calls of an iteration, in which hooks may have a part."""
    ids = [each.id for each in now.message.tool_calls] if now.message else []
    begun = (each.id for each in now.calls.values() if each.hooks or each.starts)
    return [*ids, *(each for each in begun if each not in ids)]


def _take_out(now: Iteration, seen: Observation) -> None:
    now.entries.remove(seen)
    if seen in now.model_events:
        now.model_events.remove(seen)
    call = now.calls.get(seen.call_id or "")
    if call is not None and seen in call.entries:
        call.entries.remove(seen)
        call.events.remove(seen)
        if not call.entries:
            del now.calls[call.id]


def _put_in(now: Iteration, seen: Observation) -> None:
    now.entries.append(seen)
    if seen.call_id is not None:
        call = call_of(now, seen.call_id)
        call.entries.append(seen)
        call.events.append(seen)
    elif seen.data.get("kind") == "model":
        now.model_events.append(seen)
