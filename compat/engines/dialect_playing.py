"""What playing a world has in common in dialects whose worlds compare two plays."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from refengine.messages import Json
from refengine.testing.recorder import Recorder
from refengine.testing.trace import Observation, Trace

T = TypeVar("T")


def side_by_side(plays: Iterable[Trace]) -> Trace:
    """Return plays as one trace, one behind the other, with runs numbered on."""
    found: list[Observation] = []
    for trace in plays:
        shift = max((each.run for each in found), default=0)
        for each in trace:
            number = each.run + shift if each.run else 0
            found.append(replace(each, run=number, seq=len(found)))
    return Trace(found)


async def play_turn(
    recorder: Recorder,
    call: Callable[[], Coroutine[object, object, T]],
    cancel_after: float | None,
    seen: Callable[[T], object],
) -> None:
    """Make the call of a turn, and put down what it warned of and how it ended.

    It is cancelled after so many seconds, if any.
    """
    end: dict[str, object] = {}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = await _cancelled_after(call(), cancel_after)
        except asyncio.CancelledError:
            end["cancelled"] = True
        except Exception as error:  # noqa: BLE001  # what a call raised is data
            end["error"] = seen_error(error)
        else:
            end["result"] = seen(result)
    for each in warned:
        told = {"class": each.category.__name__, "text": str(each.message)}
        recorder.note_now("warning", told)
    recorder.note_now("run_end", end)


async def _cancelled_after(
    called: Coroutine[object, object, T], seconds: float | None
) -> T:
    task = asyncio.ensure_future(called)
    if seconds is not None:
        await asyncio.wait((task,), timeout=seconds)
        task.cancel()
    return await task


def seen_message(message: object) -> dict[str, Json]:
    """Return what an observation says of a message, by its attributes."""
    calls: Sequence[object] = getattr(message, "tool_calls", ())
    told: dict[str, Json] = {
        "role": str(getattr(message, "role", "")),
        "content": str(getattr(message, "content", "")),
        "calls": [seen_call(each) for each in calls],
        "call_id": str(getattr(message, "tool_call_id", "") or ""),
        "name": str(getattr(message, "name", "") or ""),
    }
    return {key: each for key, each in told.items() if each}


def seen_call(call: object) -> Json:
    """Return id, name and arguments of a call."""
    return {key: str(getattr(call, key, "")) for key in ("id", "name", "arguments")}


def seen_error(error: object) -> Json:
    """Return class and text of an error."""
    return {"class": type(error).__name__, "text": str(error)}
