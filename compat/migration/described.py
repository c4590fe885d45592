"""Naming a difference: its code, where a person finds it, and what stands around it.

The first difference in time is looked at as a whole entry, because one lost message
makes all that follow it stand at another index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from compat.migration.codes import (
    CODES,
    SEQUENCES,
    Named,
    missing,
    name,
    other_call,
    sequence,
)
from compat.migration.differences import TraceChannels, index_of, narrowed
from compat.migration.shown_texts import shown_code
from compat.report.story import message_line
from compat.verdicts.migration import DescribedDivergence, Difference, Side
from refengine.errors import NotKeepableError
from refengine.messages import Json
from refengine.testing.channels import ChannelEntry
from refengine.testing.isolation.side_doors import steady
from refengine.testing.json_values import is_mapping
from refengine.testing.person import APPROVAL
from refengine.testing.trace import LAST, MISSING

Line: TypeAlias = "tuple[str, str]"  # a mark ("-", "+" or " ") and a text
Value: TypeAlias = "Mapping[str, Any]"

_WITH_MESSAGES: Final = frozenset(("requests", "state", "second_turn"))
_IN_A_ROW: Final = frozenset(("effects", "tool_executions", "errors", "events"))


def around(
    channel: str, old: Sequence[ChannelEntry], new: Sequence[ChannelEntry], at: int
) -> tuple[Line, ...]:
    """Return what stands around the entry ``at``; nothing where the values say it all.

    Messages of one request or one final state; else the channel's entries of that run.
    """
    ours: Value | None = old[at].value if at < len(old) else None
    theirs: Value | None = new[at].value if at < len(new) else None
    if channel in _WITH_MESSAGES and ours is not None and theirs is not None:
        sides = [[*map(message_line, side["messages"])] for side in (ours, theirs)]
        return () if sides[0] == sides[1] else tuple(_lines(*sides))
    if channel == "nodes" and ours is not None and theirs is not None:
        return tuple(_lines(*map(_nodes_of, (ours, theirs))))
    if channel not in _IN_A_ROW:
        return ()
    run = (ours or theirs or {}).get("run")
    rows = [
        [_row(channel, each.value) for each in entries if each.value["run"] == run]
        for entries in (old, new)
    ]
    return tuple(_lines(*rows))


def _nodes_of(value: Value) -> list[str]:
    return [", ".join(step) for step in value["steps"]]


def _row(channel: str, value: Value) -> str:
    if channel == "effects":
        return f"{value['name']} {_json(value['data'])}"
    if channel == "tool_executions":
        return f"{value['call_id']}: {value['name']}({value['arguments']})"
    if channel == "errors":
        of = f" of {value['of']}" if value["of"] else ""
        return f"{value['error']} at {value['point']}{of}"
    if value["kind"] == "error":
        return "error"
    calls = "".join(f" [{c[0]}: {c[1]}({c[2]})]" for c in value["tool_calls"])
    who = f"{value['kind']} {value['call_id'] or ''}".rstrip()
    said = f"{value['text']}{calls}".strip()
    return f"{who}: {said}" if said else who


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for how, start, end, from_, to in matcher.get_opcodes():
        if how == "equal":
            yield from ((" ", text) for text in old[start:end])
        else:
            yield from (("-", text) for text in old[start:end])
            yield from (("+", text) for text in new[from_:to])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


FIRST: Final = (
    "ways",
    "effects",
    "pairing",
    "requests",
    "model_calls",
    "tool_executions",
    "errors",
    "events",
)
"""Which channel tells, where several differ at one moment; the others follow."""


KEPT: Final = frozenset(("checkpoints", "handed_over"))
"""What is kept of runs."""


def first_in_time(found: Sequence[Difference]) -> Difference:
    """Return the difference that was observed first."""

    def when(each: Difference) -> tuple[int, int]:
        if _is_refusal(each):  # a cause of all that follows, and never a consequence
            return -1, 0
        if each.channel in KEPT:  # shown by what was done, where that differs
            return LAST, 0
        follows = each.channel not in FIRST
        # Old messages that were paired wrongly, and are not any more, are not a cause.
        follows = follows or (each.channel == "pairing" and each.new == MISSING)
        return each.seq, len(FIRST) if follows else FIRST.index(each.channel)

    return min(found, key=when)


AGAINST_NO: Final = "AGAINST_NO"
"""The code that stands before all others: a person was asked, and it did not matter."""


def against_no(old: TraceChannels, new: TraceChannels) -> DescribedDivergence | None:
    """Return the first call that only NEW makes although a person denied it there."""

    def calls(entries: Sequence[ChannelEntry]) -> set[tuple[Any, Any]]:
        return {(each.value["run"], each.value["call_id"]) for each in entries}

    asked = [e for e in new.entries("effects") if e.value["name"] == APPROVAL]
    denied = calls([each for each in asked if _is_denied(each.value["data"])])
    denied |= new.answered_no
    if not denied:
        return None
    ours, theirs = (each.entries("tool_executions") for each in (old, new))
    only = denied - calls(ours)
    for at, entry in enumerate(theirs):
        if (entry.value["run"], entry.value["call_id"]) in only:
            value = dict(entry.value)
            seen = Difference("tool_executions", f"[{at}]", MISSING, value, entry.seq)
            lines = around("tool_executions", ours, theirs, at)
            where = _where("tool_executions", entry, theirs[:at])
            found = CODES[AGAINST_NO]
            return DescribedDivergence(
                AGAINST_NO, found.severity, found.summary, seen, where, lines
            )
    return None


def _is_denied(data: object) -> bool:
    return is_mapping(data) and data.get("approved") is False


_MADE: Final = frozenset(("requests", "model_calls", "tool_executions", "effects"))


def started_by(
    first: Difference,
    found: Sequence[Difference],
    old: TraceChannels,
    new: TraceChannels,
) -> Difference:
    """Return the error because of which a side did no more, if there is one.

    Where one side does something that the other one does not come to, because its run
    ended with an error, that error is what a person has to hear of.
    """
    if first.channel not in _MADE:
        return first
    at = index_of(first.path)
    ours, theirs = (
        entries[at].value["run"] if at < len(entries) else None
        for entries in (old.entries(first.channel), new.entries(first.channel))
    )
    if ours == theirs:
        return first
    run = min(each for each in (ours, theirs) if isinstance(each, int))
    stopped = new if ours == run else old
    places = [
        f"[{place}]"
        for place, entry in enumerate(stopped.entries("errors"))
        if entry.value["run"] == run
    ]
    errors = (each for each in found if each.channel == "errors")
    return next((each for each in errors if each.path.startswith(tuple(places))), first)


def _is_refusal(difference: Difference) -> bool:
    """Tell whether only one side puts in what cannot be kept, or cannot be built."""
    sides = (difference.old, difference.new)
    return difference.channel == "errors" and any(
        isinstance(each, Mapping)
        and (each.get("error") == NotKeepableError.__name__ or each.get("run") == 0)
        for each in sides
    )


def named(
    difference: Difference, old: TraceChannels, new: TraceChannels
) -> DescribedDivergence:
    """Return the divergence that a difference is, with its code and place."""
    channel = difference.channel
    at = index_of(difference.path)
    ours, theirs = old.entries(channel), new.entries(channel)
    code, path, left, right = _named(difference, at, (old, ours), (new, theirs))
    at = index_of(path)
    side = theirs if left == MISSING or at >= len(ours) else ours
    entry = side[at]
    found = CODES[code]
    precise = replace(difference, path=path, old=left, new=right)
    where = _where(channel, entry, side[:at])
    if channel == "pairing":  # the messages say it better than the ids
        channel, at = _sent(old, new, entry.seq) or (channel, at)
        ours, theirs = old.entries(channel), new.entries(channel)
    lines = around(channel, ours, theirs, at)
    causes = tuple(_causes(old, new, entry.value["run"]))
    return DescribedDivergence(
        code,
        found.severity,
        found.summary,
        precise,
        where,
        lines,
        causes,
        innermost=narrowed(precise),
    )


def _causes(
    old: TraceChannels,
    new: TraceChannels,
    run: Any,  # noqa: ANN401  # its number
) -> Iterator[tuple[Side, str]]:
    """Yield the first error of a run, or of building, that only one side had."""
    for at in dict.fromkeys((0, run)):
        # An address is of this moment, and would make two errors of one.
        ours, theirs = ([*map(steady, side.errors(at))] for side in (old, new))
        some: tuple[tuple[Side, list[str], list[str]], ...] = (
            ("old", ours, theirs),
            ("new", theirs, ours),
        )
        for side, mine, others in some:
            first = next((each for each in mine if each not in others), None)
            if first is not None:
                yield side, first


@dataclass(frozen=True, slots=True)
class DivergenceKind:
    """What stays the same while a world is made smaller, and what groups are made by.

    ``place`` is where in an entry the difference lies, whatever its index; ``about`` is
    which sort of thing differs there, such as messages of a tool.
    """

    code: str
    channel: str
    place: str
    about: tuple[str, str]

    def of_tool(self, name: str) -> DivergenceKind:
        """Return the same kind about a tool of another name, if it is about one."""
        if self.channel != "tool_executions":
            return self
        old, new = (MISSING if each == MISSING else name for each in self.about)
        return replace(self, about=(old, new))


def kind_of(found: DescribedDivergence) -> DivergenceKind:
    """Return of which kind a divergence is."""
    at = found.difference
    place = at.anywhere
    return DivergenceKind(found.code, at.channel, place, (_sort(at.old), _sort(at.new)))


def _sort(value: Json) -> str:
    """Return what sort of thing a value is: of a message its role, else its name."""
    if value == MISSING:
        return MISSING
    if isinstance(value, Mapping):
        keys = ("role", "error", "point", "name", "kind")
        found = [str(value[key]) for key in keys if isinstance(value.get(key), str)]
        return " ".join(found[:1]) or "object"
    return type(value).__name__


def _sent(old: TraceChannels, new: TraceChannels, seq: int) -> tuple[str, int] | None:
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
    old: tuple[TraceChannels, Sequence[ChannelEntry]],
    new: tuple[TraceChannels, Sequence[ChannelEntry]],
) -> Named:
    channel, here = difference.channel, f"[{at}]"
    lists = [[entry.value for entry in entries] for _, entries in (old, new)]
    if channel in SEQUENCES:
        code, path, left, right = sequence(channel, *lists)
        if code != "CHANGED":
            return code, path, left, right
        here = path
        at = int(path[1:-1])
    sides = [values[at] if at < len(values) else None for values in lists]
    if sides[0] is None or sides[1] is None:
        code = missing(channel, added=sides[0] is None)
        return code, here, sides[0] or MISSING, sides[1] or MISSING
    if channel == "requests" and (other := other_call(at, *lists)):
        extra = other == "EXTRA_CALL"
        ours, theirs = (MISSING, dict(sides[1])) if extra else (dict(sides[0]), MISSING)
        return other, here, ours, theirs
    found = name(channel, sides[0], sides[1])
    code, path, left, right = found
    if code in {"STREAM_TEXT", "EVENT_ORDER", "EVENT_CHANGED"}:
        code = shown_code(found, old[0], new[0], sides[0]["run"])
    return code, here + path, left, right


_NAMED: Final[Mapping[str, str]] = MappingProxyType(
    {"deliveries": "callback", "parts": "id", "part_events": "id", "saved": "session"}
)
"""What an entry of these channels is called by, where it stands."""
_COUNTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "requests": "model call",
        "model_calls": "model call",
        "events": "event",
        "chunks": "stream",
        "effects": "effect",
        "checkpoints": "step",
    }
)


def _where(channel: str, entry: ChannelEntry, before: Sequence[ChannelEntry]) -> str:
    """Return where an entry stands, as a person counts: in its run, from 1."""
    run = entry.value["run"]
    where = f"run {run}" if run else "while the agent is built"
    call_id = entry.value.get("call_id") or entry.value.get("call")
    if channel in _COUNTED:
        number = 1 + sum(each.value["run"] == run for each in before)
        where += f", {_COUNTED[channel]} {number}"
    if isinstance(call_id, str):
        where += f", tool call {call_id}"
    named = entry.value.get(_NAMED.get(channel, ""))
    return where if named is None else f"{where}, {named}"
