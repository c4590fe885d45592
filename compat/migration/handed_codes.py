"""What a divergence is called that shows in a run which OLD kept and NEW goes on with.

A run that NEW refuses, one that it loses and a call that it makes a second time look
like other divergences in the channels: an error, a call that is missing, one too many.
Who upgrades has to hear what became of the run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from compat.migration.codes import CODES
from compat.migration.differences import TraceChannels
from compat.verdicts.migration import DescribedDivergence, Difference, Side
from refengine.messages import Json
from refengine.testing.json_values import is_mapping
from refengine.testing.trace import MISSING

Placed: TypeAlias = "tuple[str, int, dict[str, Any]]"  # channel, index, entry

CHANNEL: Final = "handed_over"
REFUSED: Final = "HAND_OVER_REFUSED"
LOST: Final = "HAND_OVER_LOST"
TWICE: Final = "HAND_OVER_TWICE"
NOTHING_WAITS: Final = "nothing waits there: is the node called as in OLD?"
CALLED: Final = frozenset(("EXTRA_CALL", "AGAINST_NO"))
"""What a call that only NEW makes is called in any other run."""
DONE: Final = ("tool_executions", "model_calls")
"""Channels of what a run does; one that does none of it is not gone on with."""


def in_hand_over(
    told: DescribedDivergence, old: TraceChannels, new: TraceChannels
) -> DescribedDivergence:
    """Return the divergence by what became of the run; as it was in any other one."""
    handed = [*new.entries(CHANNEL), *old.entries(CHANNEL)]
    if not handed or told.difference.channel == CHANNEL:
        return told
    run = cast("int", handed[0].value["run"])
    ran = handed[0].value["ran"]
    if told.code in CALLED and _is_one_of(told.difference.new, ran):
        return _called(TWICE, told.difference, told)
    did = _in_run(run, old, DONE)
    if not did or _in_run(run, new, DONE):
        return told
    refusals = _in_run(run, new, ("errors",))
    if not refusals:
        channel, at, entry = _told_by(did, handed[-1].value["pending"])
        found = _called(LOST, _seen(told, channel, at, entry, MISSING), told)
        return replace(found, causes=(*found.causes, *_unasked(old, new)))
    if _in_run(run, old, ("errors",)):
        return told
    channel, at, entry = refusals[0]
    found = _called(REFUSED, _seen(told, channel, at, MISSING, entry), told)
    said: list[tuple[Side, str]] = [("new", text) for text in new.errors(run)]
    return replace(found, causes=tuple(said[:1]))


def _told_by(did: Sequence[Placed], pending: object) -> Placed:
    """Return what of all that OLD does tells most: the tool that a person allows."""
    asked = json.dumps(pending)
    named = (each for each in did if f'"{each[2].get("name")}"' in asked)
    return next(named, did[0])


def _unasked(old: TraceChannels, new: TraceChannels) -> Sequence[tuple[Side, str]]:
    """Return why a run is lost that only OLD knows to wait, if that is so."""
    waits = [
        any(e.value["pending"] for e in each.entries(CHANNEL)) for each in (old, new)
    ]
    return (("new", NOTHING_WAITS),) if waits == [True, False] else ()


def _in_run(
    run: object, side: TraceChannels, channels: Sequence[str]
) -> Sequence[Placed]:
    """Return what a side has of a run in these channels, each with its place."""
    return [
        (channel, at, dict(entry.value))
        for channel in channels
        for at, entry in enumerate(side.entries(channel))
        if entry.value["run"] == run
    ]


def _is_one_of(value: object, ran: Any) -> bool:  # noqa: ANN401  # ids of calls
    """Tell whether it is a call that OLD had made before it kept the run."""
    return is_mapping(value) and value.get("call_id") in ran


def _seen(
    told: DescribedDivergence,
    channel: str,
    at: int,
    old: Json,
    new: Json,
) -> Difference:
    return Difference(channel, f"[{at}]", old, new, told.difference.seq)


def _called(
    code: str, seen: Difference, told: DescribedDivergence
) -> DescribedDivergence:
    """Return the divergence with another code, and what shows that."""
    found, lines = CODES[code], told.lines
    if seen.channel != told.difference.channel:
        lines = ()
    return replace(
        told,
        code=code,
        severity=found.severity,
        summary=found.summary,
        difference=seen,
        lines=lines,
    )
