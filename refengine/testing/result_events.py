"""Whether the events of a run's result are those that its consumer got (EVT-014).

Who asks for the result only has to have the same events, each in its finished form: a
plain one is itself, and one that was handed over open holds the chunks that were read.
The doors to other engines keep the very event that they handed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refengine.events import AgentEvent, Chunk
    from refengine.messages import Json


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """An event as the consumer got it, and what it read of its stream.

    ``chunks`` is None for an event without a stream, and for one that ``broke``.
    """

    event: AgentEvent
    chunks: tuple[Chunk, ...] | None = None
    broke: bool = False


def unlike(
    received: Sequence[ReceivedEvent], kept: Sequence[AgentEvent]
) -> dict[str, Json] | None:
    """Return the first place where a result's events are others; None if nowhere."""
    for at, (mine, its) in enumerate(zip_longest(received, kept)):
        if mine is None:
            return {"at": at, "received": None, "kept": _named(its)}
        if its is None or not _is_finished(mine, its):
            return {"at": at, "received": _named(mine.event), "kept": _named(its)}
    return None


def _is_finished(mine: ReceivedEvent, its: AgentEvent) -> bool:
    event = mine.event
    if its is event:
        return True
    if _plain(event) != _plain(its):
        return False
    if event.stream is None:
        return event.message == its.message and event.chunks == its.chunks
    if mine.broke:  # half of a message is none
        return its.message is None
    return mine.chunks is None or its.chunks == mine.chunks


def _plain(event: AgentEvent) -> tuple[object, ...]:
    """Return what of an event is the same in its finished form."""
    return event.kind, event.run_path, event.call_id, event.action, event.error


def _named(event: AgentEvent | None) -> Json:
    return None if event is None else [event.kind, event.call_id]
