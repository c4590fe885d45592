"""Where two traces differ: channel by channel, every place, type-strict.

1, 1.0 and true differ. What is declared volatile or allowed is a pattern of a path,
``[*]`` for any index, and covers all that lies under it; what is allowed may also name
the role of a message and the texts of both sides, ``*`` for any piece.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final, Self, TypeAlias

from compat.report.values import common_start
from compat.verdicts.migration import Difference
from refengine.messages import Json
from refengine.testing.channels import CHANNELS, UNKEPT, ChannelEntry, Seen, project
from refengine.testing.json_values import is_mapping
from refengine.testing.person import SHOWN
from refengine.testing.trace import MISSING, same

Entry: TypeAlias = "Mapping[str, Json]"

PLAIN: Final = re.compile(r"[\w-]+")
"""A key that stands in a path as it is."""


@dataclass(frozen=True, slots=True)
class Mask:
    """Places of a channel: a path in which ``[*]`` stands for any index."""

    channel: str
    path: str

    def covers(self, difference: Difference) -> bool:
        """Tell whether the difference lies at such a place or under it."""
        if difference.channel != self.channel:
            return False
        steps = re.escape(self.path).replace(re.escape("[*]"), r"\[\d+\]")
        return re.match(rf"{steps}(?=[.\[]|\Z)", difference.path) is not None


@dataclass(frozen=True, slots=True)
class AllowedTexts(Mask):
    """Places where a text of OLD's may be one of NEW's, in messages of one role.

    In a text ``*`` stands for any piece of it; None is any value, and "" any role. So a
    right wording does not let a wrong one pass at the same place.
    """

    role: str = ""
    old: str | None = None
    new: str | None = None

    def covers(self, difference: Difference) -> bool:
        """Tell whether the difference is between such texts at such a place."""
        sides = (self.old, difference.old), (self.new, difference.new)
        return (
            Mask(self.channel, self.path).covers(difference)
            and self.role in {"", difference.role}
            and all(wanted is None or _fits(wanted, text) for wanted, text in sides)
        )


def _fits(wanted: str, text: Json) -> bool:
    """Tell whether a value is such a text; in a time that grows with its length."""
    if not isinstance(text, str) or text == MISSING:
        return False
    first, *rest = wanted.split("*")
    if not rest:
        return text == wanted
    *middle, last = rest
    at = len(first)
    for piece in middle:
        found = text.find(piece, at)
        at = found + len(piece) if found >= 0 else len(text) + 1
    is_room = at <= len(text) - len(last)
    return is_room and text.startswith(first) and text.endswith(last)


@dataclass(frozen=True, slots=True)
class Additions(Mask):
    """Places where only NEW has something, which nobody can have looked for."""

    def covers(self, difference: Difference) -> bool:
        """Tell whether the difference is an addition at such a place."""
        covered = Mask(self.channel, self.path).covers(difference)
        return covered and difference.old == MISSING and difference.path != self.path


@dataclass(frozen=True, slots=True)
class EntryMask(Mask, ABC):
    """Places where both entries are looked at as a whole."""

    def covers(self, difference: Difference) -> bool:  # noqa: ARG002  # as all masks
        """Tell that nothing is covered: what is not to be compared is not there."""
        return False

    @abstractmethod
    def compared(self, old: Entry, new: Entry) -> tuple[Entry, Entry]:
        """Return what is left to compare of two entries."""


@dataclass(frozen=True, slots=True)
class KeptByOne(EntryMask):
    """What a run left that failed, where one side has nothing that would keep it.

    A checkpointer that is added keeps it, and nobody can have looked for it before.
    """

    def compared(self, old: Entry, new: Entry) -> tuple[Entry, Entry]:
        """Return what is left to compare of two entries."""
        if not (old.get(UNKEPT) or new.get(UNKEPT)):
            return old, new
        return _ended(old), _ended(new)


def _ended(entry: Entry) -> Entry:
    return {k: entry[k] for k in ("run", "status", "answer") if k in entry}


@dataclass(frozen=True, slots=True)
class CallsUnknown(EntryMask):
    """Entries of which OLD does not say in which call of a tool they came about.

    A node that an application wrote itself makes all calls of an answer, and what it
    does before or after one belongs to none of them; a wrapper of a call is in it. The
    order of the entries still tells which came first.
    """

    def covers(self, difference: Difference) -> bool:
        """Tell whether it is the call of such an entry."""
        is_call = difference.path.endswith(".call_id")
        return is_call and difference.channel == self.channel and not difference.old

    def compared(self, old: Entry, new: Entry) -> tuple[Entry, Entry]:
        """Return what is left to compare of two entries."""
        if old.get("call_id", "") is not None or new.get("call_id") is None:
            return old, new
        return _without_call(old), _without_call(new)


def _without_call(entry: Entry) -> Entry:
    after = entry.get("after")
    counted = dict(after) if isinstance(after, Mapping) else {}
    counted.pop("executions", None)
    return {**entry, "call_id": None, "after": counted}


@dataclass(frozen=True, slots=True)
class OwnQuestions(EntryMask):
    """What a person is shown, where one side alone asks in a form of its own.

    The other asks in its framework's form: which call it is about is all that both say.
    Keys that only NEW has are nothing that OLD's application looks for.
    """

    def compared(self, old: Entry, new: Entry) -> tuple[Entry, Entry]:
        """Return what is left to compare of two entries."""
        ours, theirs = old.get("data"), new.get("data")
        if not (is_mapping(ours) and is_mapping(theirs)):
            return old, new
        if SHOWN in ours and SHOWN in theirs:
            left = _known(ours[SHOWN], theirs[SHOWN])
            return old, {**new, "data": {**theirs, SHOWN: left}}
        return _unshown(old, ours), _unshown(new, theirs)


def _known(old: Json, new: Json) -> Json:
    """Return NEW's value without the keys that OLD's has not."""
    if not (is_mapping(old) and is_mapping(new)):
        return new
    return {key: _known(old[key], new[key]) for key in new if key in old}


def _unshown(entry: Entry, data: Entry) -> Entry:
    return {**entry, "data": {key: data[key] for key in data if key != SHOWN}}


@dataclass(frozen=True, slots=True)
class SameEdit(Mask):
    """One piece of a text in another's place, wherever it stands in whichever channel.

    So what a difference hides is seen: a text that is changed in one more way has
    another edit.
    """

    was: str
    becomes: str

    @classmethod
    def of(cls, difference: Difference) -> Self | None:
        """Return the edit of a difference, None if it is not that of one text."""
        inside = narrowed(difference)
        edit = _edit(inside.old, inside.new)
        return edit and cls(difference.channel, difference.path, *edit)

    def covers(self, difference: Difference) -> bool:
        """Tell whether two texts differ in this way and in no other."""
        return _edit(difference.old, difference.new) == (self.was, self.becomes)


def _edit(old: Json, new: Json) -> tuple[str, str] | None:
    """Return the pieces in which two texts differ: what begins and ends alike is left.

    A side that has no text there has nothing to edit.
    """
    if not isinstance(old, str) or not isinstance(new, str) or MISSING in {old, new}:
        return None
    first = common_start(old, new)
    old, new = old[first:], new[first:]
    last = common_start(old[::-1], new[::-1])
    return old[: len(old) - last], new[: len(new) - last]


GRAPHS: Final = (
    CallsUnknown("effects", "[*]"),
    OwnQuestions("effects", "[*]"),
    Additions("state", "[*].values"),
    Additions("second_turn", "[*].values"),
    Additions("handed_over", "[*].values"),
    Additions("handed_over", "[*].types"),
    *(KeptByOne(each, "[*]") for each in ("state", "second_turn", "pairing")),
)
"""What may differ between two graphs: keys of the state that the older one has not, and
what a failed run leaves where only one of them keeps it."""


class TraceChannels:
    """One trace by channel; a channel is projected when it is first asked for."""

    def __init__(self, jsonl: str) -> None:
        self.jsonl = jsonl
        self._entries: dict[str, list[ChannelEntry]] = {}
        self._texts: dict[str, str] = {}

    @cached_property
    def _seen(self) -> Seen:
        return Seen(self.jsonl)

    def entries(self, channel: str) -> list[ChannelEntry]:
        """Return the entries of a channel."""
        if channel not in self._entries:
            self._entries[channel] = project(self._seen, channel)
        return self._entries[channel]

    def errors(self, run: int) -> list[str]:
        """Return what errors of a run say, also those that only a tool had.

        Texts are not compared, but a person wants to read them.
        """
        return [
            text
            for item in self._seen.items
            if item["run"] == run
            for text in _error_texts(item)
        ]

    @property
    def called(self) -> Mapping[str, tuple[str, str]]:
        """The calls that the model made, by id: a tool's name and its arguments."""
        return {
            str(call["id"]): (str(call["name"]), str(call["arguments"]))
            for item in self._seen.of("model_response")
            for call in item["data"]["message"].get("tool_calls", ())
        }

    @property
    def answered_no(self) -> AbstractSet[tuple[int, str]]:
        """Runs and ids of the calls that stopped to ask, and were answered no.

        Not those whose tool asks by itself, which it cannot do without being run.
        """
        denied: set[_Call] = set()
        waiting: list[tuple[_Call, bool]] = []
        running: set[_Call] = set()
        for item in self._seen.of(*_OF_CALLS, "interrupt", "resume"):
            call, kind = (item["run"], item["call_id"]), item["kind"]
            if kind == "interrupt":
                waiting.append((call, call in running))
            elif kind == "resume":
                denied |= _refused(waiting, item["data"]["answers"])
                waiting, running = [], set()
            else:
                (running.add if kind == "tool_start" else running.discard)(call)
        return denied

    def text(self, channel: str) -> str:
        """Return a channel as canonical JSON: equal texts, equal channels."""
        if channel not in self._texts:
            values = [entry.value for entry in self.entries(channel)]
            self._texts[channel] = json.dumps(values, sort_keys=True)
        return self._texts[channel]


_OF_CALLS: Final = ("tool_start", "tool_end", "tool_error")
"""Kinds of observations that a call of a tool begins and ends with."""
_Call: TypeAlias = tuple[int, str]
"""The number of a run, and the id of a call."""


def _refused(
    waiting: Sequence[tuple[_Call, bool]], answers: Sequence[object]
) -> set[_Call]:
    """Return the calls that were answered no, without those whose tool asked."""
    if len(answers) != len(waiting):
        return set()
    said = zip(waiting, answers, strict=True)
    return {call for (call, itself), yes in said if yes is False and not itself}


def _error_texts(item: Mapping[str, Any]) -> Iterator[str]:
    kind, data = item["kind"], item["data"]
    if kind == "tool_error":
        yield f"tool call {item['call_id']} failed: {data['error']}"
    elif kind == "build" and "lost" in data:
        yield data["lost"]
    elif kind in {"event", "build_error"} and "error" in data:
        yield f"{data['class']}: {data['error'].get('text', '')}"


def broken(
    old: TraceChannels,
    new: TraceChannels,
    channels: Iterable[str],
    masks: Sequence[Mask] = (),
) -> frozenset[str]:
    """Return those of these channels that differ where no mask covers it.

    Only a channel with a mask is looked at in its places.
    """
    if old.jsonl == new.jsonl:
        return frozenset()
    masked = {mask.channel for mask in masks}
    return frozenset(
        channel
        for channel in channels
        if old.text(channel) != new.text(channel)
        and (channel not in masked or differences(old, new, (channel,), masks))
    )


def differences(
    old: TraceChannels,
    new: TraceChannels,
    channels: Iterable[str] = tuple(CHANNELS),
    masks: Sequence[Mask] = (),
) -> list[Difference]:
    """Return every place in these channels that differs and that no mask covers."""
    if old.jsonl == new.jsonl:
        return []
    return [
        each
        for channel in channels
        if old.text(channel) != new.text(channel)
        for each in _in_channel(
            channel,
            old.entries(channel),
            new.entries(channel),
            [m for m in masks if isinstance(m, EntryMask) and m.channel == channel],
        )
        if not any(mask.covers(each) for mask in masks)
    ]


def _in_channel(
    channel: str,
    old: Sequence[ChannelEntry],
    new: Sequence[ChannelEntry],
    by_entry: Sequence[EntryMask],
) -> Iterator[Difference]:
    for at in range(max(len(old), len(new))):
        ours = old[at] if at < len(old) else None
        theirs = new[at] if at < len(new) else None
        seq = min(each.seq for each in (ours, theirs) if each is not None)
        values: tuple[Part, Part] = (
            ABSENT if ours is None else ours.value,
            ABSENT if theirs is None else theirs.value,
        )
        if ours is not None and theirs is not None:
            entries: tuple[Entry, Entry] = ours.value, theirs.value
            for mask in by_entry:
                entries = mask.compared(*entries)
            values = entries
        for path, left, right, role in _innermost(*values, f"[{at}]"):
            yield Difference(channel, path, left, right, seq, role)


class NoValue(Enum):
    """Stands for a value that a side does not have; no JSON value equals it."""

    ABSENT = MISSING


ABSENT: Final = NoValue.ABSENT
Part: TypeAlias = "Json | NoValue"


def _innermost(
    old: Part, new: Part, path: str, role: str = ""
) -> Iterator[tuple[str, Json, Json, str]]:
    """Yield path, values and the message's role of every innermost difference."""
    if isinstance(old, NoValue) or isinstance(new, NoValue):
        yield path, _shown(old), _shown(new), role
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        role = _role(old, new, role)
        for key in sorted({*old, *new}):
            ours, theirs = old.get(key, ABSENT), new.get(key, ABSENT)
            yield from _innermost(ours, theirs, path + step(key), role)
    elif isinstance(old, list) and isinstance(new, list):
        for at in range(max(len(old), len(new))):
            ours = old[at] if at < len(old) else ABSENT
            theirs = new[at] if at < len(new) else ABSENT
            yield from _innermost(ours, theirs, f"{path}[{at}]", role)
    elif not same(old, new):
        yield path, old, new, role


def narrowed(found: Difference) -> Difference:
    """Return the one place within a difference where both sides' values differ.

    It is the difference itself where they do in several, or one side has nothing.
    """
    if MISSING in (found.old, found.new):
        return found
    inside = [*_innermost(found.old, found.new, found.path, found.role)]
    if len(inside) != 1:
        return found
    ((path, old, new, role),) = inside
    return Difference(found.channel, path, old, new, found.seq, role)


def _role(old: Entry, new: Entry, outside: str) -> str:
    """Return the role that both have as a message, else that of what they stand in."""
    role = old.get("role")
    return role if isinstance(role, str) and role == new.get("role") else outside


def index_of(path: str) -> int:
    """Return the index of the entry that a path begins with."""
    return int(re.findall(r"\d+", path)[0])


def step(key: str) -> str:
    """Return a key as a step of a path; one that is not a plain name is quoted.

    Or a mask on ``http`` would cover a key ``http.url``.
    """
    return f".{key}" if PLAIN.fullmatch(key) else f"[{json.dumps(key)}]"


def _shown(part: Part) -> Json:
    return part.value if isinstance(part, NoValue) else part
