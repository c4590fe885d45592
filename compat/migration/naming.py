"""Naming a difference: which code it has, and where a person finds it.

The first difference in time is looked at as a whole entry, because one lost message
makes all that follow it stand at another index.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from compat.migration.beside import beside
from compat.migration.codes import CODES
from compat.migration.differing import Shown
from compat.migration.namers import (
    SEQUENCES,
    Named,
    missing,
    name,
    other_call,
    sequence,
)
from compat.verdicts.migration import DescribedDivergence, Difference
from refengine.errors import NotKeepableError
from refengine.testing.channels import Entry
from refengine.testing.trace import LAST, MISSING

FIRST: Final = (
    "effects",
    "pairing",
    "requests",
    "model_calls",
    "tool_executions",
    "errors",
    "events",
)
"""Which channel tells, where several differ at one moment; the others follow."""


def first_in_time(found: Sequence[Difference]) -> Difference:
    """Return the difference that was observed first."""

    def when(each: Difference) -> tuple[int, int]:
        if _is_refusal(each):  # a cause of all that follows, and never a consequence
            return -1, 0
        if each.channel == "checkpoints":  # told by what was done, where that differs
            return LAST, 0
        follows = each.channel not in FIRST
        # Old messages that were paired wrongly, and are not any more, are no cause.
        follows = follows or (each.channel == "pairing" and each.new == MISSING)
        return each.seq, len(FIRST) if follows else FIRST.index(each.channel)

    return min(found, key=when)


def _is_refusal(difference: Difference) -> bool:
    """Tell whether only one side puts something in that cannot be kept."""
    sides = (difference.old, difference.new)
    return difference.channel == "errors" and any(
        isinstance(each, Mapping) and each.get("error") == NotKeepableError.__name__
        for each in sides
    )


def named(difference: Difference, old: Shown, new: Shown) -> DescribedDivergence:
    """Return the divergence that a difference is, with its code and place."""
    channel = difference.channel
    at = int(re.findall(r"\d+", difference.path)[0])
    ours, theirs = old.entries(channel), new.entries(channel)
    code, path, left, right = _named(difference, at, (old, ours), (new, theirs))
    entry = (ours if at < len(ours) else theirs)[at]
    found = CODES[code]
    place = replace(difference, path=path, old=left, new=right)
    where = _where(channel, entry, (ours, theirs)[at >= len(ours)][:at])
    if channel == "pairing":  # the messages say it better than the ids
        channel, at = _sent(old, new, entry.seq) or (channel, at)
        ours, theirs = old.entries(channel), new.entries(channel)
    lines = beside(channel, ours, theirs, at)
    return DescribedDivergence(code, found.severity, found.summary, place, where, lines)


def _sent(old: Shown, new: Shown, seq: int) -> tuple[str, int] | None:
    """Return channel and index of the messages that were observed then."""
    for channel in ("requests", "state", "second_turn"):
        for shown in (old, new):
            for at, entry in enumerate(shown.entries(channel)):
                if entry.seq == seq:
                    return channel, at
    return None


def _named(
    difference: Difference,
    at: int,
    old: tuple[Shown, Sequence[Entry]],
    new: tuple[Shown, Sequence[Entry]],
) -> Named:
    channel, here = difference.channel, f"[{at}]"
    lists = [[entry.value for entry in entries] for _, entries in (old, new)]
    if channel in SEQUENCES:
        code, path, left, right = sequence(lists[0], lists[1], SEQUENCES[channel])
        if code != "CHANGED":
            return code, path, left, right
        here = path
        at = int(path[1:-1])
    sides = [values[at] if at < len(values) else None for values in lists]
    if sides[0] is None or sides[1] is None:
        code = missing(channel, added=sides[0] is None)
        return code, here, sides[0] or MISSING, sides[1] or MISSING
    if channel == "requests" and (other := other_call(at, *lists)):
        return other, here, dict(sides[0]), dict(sides[1])
    code, path, left, right = name(channel, sides[0], sides[1])
    if code == "STREAM_TEXT" and old[0].text("state") == new[0].text("state"):
        code = "STREAM_LEAK"
    return code, here + path, left, right


_PLACES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "requests": "model call",
        "model_calls": "model call",
        "events": "event",
        "chunks": "stream",
        "effects": "effect",
        "checkpoints": "step",
    }
)


def _where(channel: str, entry: Entry, before: Sequence[Entry]) -> str:
    """Return where an entry stands, as a person counts: in its run, from 1."""
    run = entry.value["run"]
    where = f"run {run}" if run else "while the agent is built"
    call_id = entry.value.get("call_id") or entry.value.get("call")
    if channel in _PLACES:
        place = 1 + sum(each.value["run"] == run for each in before)
        where += f", {_PLACES[channel]} {place}"
    if isinstance(call_id, str):
        where += f", tool call {call_id}"
    return where
