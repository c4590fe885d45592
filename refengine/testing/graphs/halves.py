"""A graph's session that is handed over: what one half leaves, and the other has.

An application knows of a run that it left what it was told then: which thread it is,
and what was asked. All else the other process reads from the checkpointer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from refengine.messages import Json
from refengine.testing.graphs.messages import said
from refengine.testing.graphs.savers import (
    files_of_saver,
    held_by,
    items_held,
    put_back,
    put_items_back,
    saver_of,
)
from refengine.testing.graphs.turn import OWN_KEYS, RunWaits, value_of, values_of
from refengine.testing.hand_over import (
    LeftSession,
    calls_made,
    handed_over,
    types_in,
)
from refengine.testing.recorder import snapshot
from refengine.testing.world import World


class NothingHeldError(LookupError):
    """A checkpointer keeps runs where nobody can take them: on a server, say."""

    def __init__(self, saver: object) -> None:
        self.saver = saver
        super().__init__(
            f"what {type(saver).__name__} keeps is not in memory, nor in a file that"
            " sqlite3 has open"
        )


@dataclass(frozen=True, slots=True)
class KeptQuestion:
    """An interrupt as an application was told of it: what resumes it names its id."""

    id: str
    value: Any


def left_session(
    world: World,
    graph: Any,  # noqa: ANN401  # a graph of any framework
    thread: str,
    waits: RunWaits,
    more: Mapping[str, Any],
    *,
    ended: bool,
) -> LeftSession:
    """Return what is left of a session whose last run has that thread.

    ``more`` is what else whoever plays it needs to go on, with the next run where the
    last one has ``ended``. Raises what taking it out of the checkpointer raises.
    """
    run, saver = world.recorder.run, saver_of(graph)
    held = held_by(saver, thread)
    if not held and not files_of_saver(saver):
        raise NothingHeldError(saver)
    session = {
        "thread": thread,
        "waits": [[e.id, snapshot(e.value), call] for e, call in waits.interrupts],
        "stopped": snapshot(waits.stopped),
        "ran": [] if ended else calls_made(world.recorder.trace(), run),
        "held": held,
        "items": items_held(graph),
        **more,
    }
    return LeftSession(run + ended, world.standing, session)


def waits_of(left: LeftSession) -> RunWaits:
    """Return what a run waited for when it was left, as an application was told."""
    told = [
        (KeptQuestion(id_, value), call) for id_, value, call in left.session["waits"]
    ]
    return RunWaits(told, left.session["stopped"])


def bring(graph: Any, left: LeftSession) -> None:  # noqa: ANN401  # a graph of any framework
    """Have a graph keep what was left; raises what its checkpointer refuses."""
    put_back(saver_of(graph), left.session["held"])
    put_items_back(graph, left.session["items"])


def put_down(
    world: World, values: Mapping[str, Any], waits: RunWaits, left: LeftSession
) -> None:
    """Put down what a side has of a run that it was handed."""
    data = handed_over(
        left,
        messages=said(values.get("messages") or ()),
        values=values_of(values),
        types=types_of(values),
        pending=[value_of(each.value) for each, _ in waits.interrupts],
    )
    world.recorder.add("checkpoint", data)


def types_of(values: Mapping[str, Any]) -> dict[str, Json]:
    """Return the type of each part of what a state keeps, by its path."""
    own = {key: each for key, each in values.items() if key not in OWN_KEYS}
    return dict(types_in(own))
