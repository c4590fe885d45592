"""Naming a difference: which code it has, and where a person finds it.

The first difference in time is looked at as a whole entry, because one lost message
makes all that follow it stand at another index.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from compat.migration.beside import beside
from compat.migration.codes import CODES
from compat.migration.differing import Shown
from compat.verdicts import Difference, Divergence
from refengine.messages import Json
from refengine.testing.channels import Entry
from refengine.testing.trace import MISSING

Value: TypeAlias = "Mapping[str, Any]"
Named: TypeAlias = "tuple[str, str, Json, Json]"  # code, rest of the path, both values

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
        channel = each.channel
        return each.seq, FIRST.index(channel) if channel in FIRST else len(FIRST)

    return min(found, key=when)


def named(difference: Difference, old: Shown, new: Shown) -> Divergence:
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
    return Divergence(code, found.severity, found.summary, place, where, lines)


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
    if channel in _SEQUENCES:
        code, path, left, right = _sequence(lists[0], lists[1], _SEQUENCES[channel])
        if code != "CHANGED":
            return code, path, left, right
        here = path
        at = int(path[1:-1])
    sides = [values[at] if at < len(values) else None for values in lists]
    if sides[0] is None or sides[1] is None:
        code = _missing(channel, added=sides[0] is None)
        return code, here, sides[0] or MISSING, sides[1] or MISSING
    name = _NAMERS.get(channel, _other)
    code, path, left, right = name(sides[0], sides[1], channel)
    if code == "STREAM_TEXT" and old[0].text("state") == new[0].text("state"):
        code = "STREAM_LEAK"
    return code, here + path, left, right


_SEQUENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "effects": ("EFFECT_LOST", "EFFECT_EXTRA"),
        "tool_executions": ("MISSING_CALL", "EXTRA_CALL"),
        "errors": ("ERROR_LOST", "ERROR_NEW"),
    }
)
"""Channels whose entries may be lost or added, and what that is called."""

_MISSING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "events": "EVENT_ORDER",
        "observed": "OBSERVED",
        "chunks": "CHUNKS",
        "interleaving": "INTERLEAVING",
        "pairing": "PAIRING",
        "caller_objects": "CALLER_CHANGED",
    }
)


def _missing(channel: str, *, added: bool) -> str:
    """Return the code of an entry that only one side has."""
    if channel in {"requests", "model_calls"}:
        return "EXTRA_CALL" if added else "MISSING_CALL"
    return _MISSING.get(channel, "STATUS")


def _sequence(
    old: Sequence[Value], new: Sequence[Value], codes: tuple[str, str]
) -> Named:
    """Name the first place where two sequences part, things lost and added aligned.

    The code is CHANGED if entries stand in each other's place; then the path is the
    index of the pair.
    """
    ours, theirs = list(map(_text, old)), list(map(_text, new))
    if ours != theirs and sorted(ours) == sorted(theirs):
        at = next(
            i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b
        )
        return "ORDER", f"[{at}]", old[at], new[at]
    lost, added = codes
    how, at, until, there, to = _first_change(ours, theirs)
    if how == "replace" and until - at == to - there and at == there:
        return "CHANGED", f"[{at}]", old[at], new[there]
    if until - at > to - there:
        return lost, f"[{at}]", old[at], MISSING
    return added, f"[{there}]", MISSING, new[there]


def _first_change(
    ours: Sequence[str], theirs: Sequence[str]
) -> tuple[str, int, int, int, int]:
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    return next(each for each in matcher.get_opcodes() if each[0] != "equal")


def _request(old: Value, new: Value, _: str) -> Named:
    if old["run"] != new["run"]:  # one side made fewer calls in an earlier run
        fewer = new["run"] > old["run"]
        return ("MISSING_CALL" if fewer else "EXTRA_CALL"), "", dict(old), dict(new)
    if _text(old["messages"]) != _text(new["messages"]):
        return _messages(old["messages"], new["messages"])
    if _text(old["tools"]) != _text(new["tools"]):
        return _tools(old["tools"], new["tools"])
    return _typed("SETTINGS", ".options", old["options"], new["options"])


def _messages(old: Sequence[Value], new: Sequence[Value]) -> Named:
    ours, theirs = list(map(_text, old)), list(map(_text, new))
    if sorted(ours) == sorted(theirs):
        at = next(
            i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b
        )
        return "ORDER", f".messages[{at}]", old[at], new[at]
    _, at, until, there, to = _first_change(ours, theirs)
    left = old[at] if until > at else MISSING
    right = new[there] if to > there else MISSING
    path = f".messages[{at}]"
    if at == there == 0 and _is_system(left, right):
        return "INSTRUCTION", path, left, right
    if until - at > to - there:
        return "MESSAGE_LOST", path, left, MISSING if to == there else right
    if until - at < to - there:
        return "MESSAGE_ADDED", f".messages[{there}]", left, right
    return _typed("MESSAGE_CHANGED", path, left, right)


def _is_system(*messages: Json) -> bool:
    return any(isinstance(m, Mapping) and m.get("role") == "system" for m in messages)


def _tools(old: Sequence[Value], new: Sequence[Value]) -> Named:
    same = Counter(map(_text, old)) == Counter(map(_text, new))
    code = "TOOLS_ORDER" if same else "TOOLS_MERGE"
    return (
        code,
        ".tools",
        [each["name"] for each in old] if _names(old) != _names(new) else list(old),
        [each["name"] for each in new] if _names(old) != _names(new) else list(new),
    )


def _names(tools: Sequence[Value]) -> list[str]:
    return [each["name"] for each in tools]


def _execution(old: Value, new: Value, _: str) -> Named:
    for key, code in (
        ("name", "TOOL_REPLACED"),
        ("implementation", "TOOL_REPLACED"),
        ("arguments", "TOOL_ARGUMENTS"),
        ("options", "SETTINGS"),
    ):
        if _text(old[key]) != _text(new[key]):
            return code, f".{key}", old[key], new[key]
    return "PAIRING", ".call_id", old["call_id"], new["call_id"]


def _event(old: Value, new: Value, _: str) -> Named:
    for key in ("kind", "call_id", "failed", "action"):
        if _text(old.get(key)) != _text(new.get(key)):
            return (
                "EVENT_ORDER",
                f".{key}",
                old.get(key, MISSING),
                new.get(key, MISSING),
            )
    if old.get("text") != new.get("text"):
        return "STREAM_TEXT", ".text", old.get("text"), new.get("text")
    return "EVENT_ORDER", "", old, new


def _error(old: Value, new: Value, _: str) -> Named:
    if old["error"] != new["error"]:
        return "ERROR_CLASS", ".error", old["error"], new["error"]
    return "ERROR_POINT", "", _point(old), _point(new)


def _point(error: Value) -> Json:
    return {key: error[key] for key in ("point", "of", "call") if error.get(key)}


def _effect(old: Value, new: Value, _: str) -> Named:
    for key in ("name", "data"):
        if _text(old[key]) != _text(new[key]):
            return _typed("EFFECT_CHANGED", f".{key}", old[key], new[key])
    return "ORDER", ".call_id", old["call_id"], new["call_id"]


def _end(old: Value, new: Value, _: str) -> Named:
    for key, code in (("status", "STATUS"), ("answer", "ANSWER")):
        if _text(old.get(key)) != _text(new.get(key)):
            return code, f".{key}", old.get(key), new.get(key)
    code, path, left, right = _messages(old["messages"], new["messages"])
    return (
        "STATE_LOST" if code == "MESSAGE_LOST" else "STATE_CHANGED",
        path,
        left,
        right,
    )


def _other(old: Value, new: Value, channel: str) -> Named:
    code = _MISSING.get(channel, "STATUS")
    key = next(
        k for k in sorted({*old, *new}) if _text(old.get(k)) != _text(new.get(k))
    )
    return code, f".{key}", old.get(key, MISSING), new.get(key, MISSING)


_NAMERS: Final[Mapping[str, Callable[[Value, Value, str], Named]]] = MappingProxyType(
    {
        "requests": _request,
        "tool_executions": _execution,
        "events": _event,
        "errors": _error,
        "effects": _effect,
        "answer": _end,
        "state": _end,
        "second_turn": _end,
    }
)


def _typed(code: str, path: str, old: Json, new: Json) -> Named:
    """Return the code, or TYPE if the values are equal but for their types."""
    return ("TYPE" if old == new else code), path, old, new


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


_PLACES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "requests": "model call",
        "model_calls": "model call",
        "events": "event",
        "chunks": "stream",
        "effects": "effect",
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
