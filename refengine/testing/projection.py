"""Projections of a trace, as data: which observations count, what of them, and how.

    Projection(of=("event[callback=on_error] data", "model_request"), lanes="run who")

Two sides agree where their projections are equal, lane by lane. A judgement of an
engine compares it so with the reference, whose trace in the same world says what is
right.

An entry of ``of`` is a kind of observation; in brackets what its values have to be
(``=``, ``!=``, alternatives behind ``|``), then the values that are compared, and with
``@lane=path`` which value says its lane. A path goes through keys and numbers of lists,
with ``*`` through all entries of one; with a question mark it tells whether there is
anything. Behind the kind may stand ``>path``: then each entry of the list there counts
for itself, as ``model_request>tools[name=t] description``; ``nth`` is its number.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, ClassVar, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, field_validator

from refengine.messages import Json
from refengine.testing.json_values import is_list, is_mapping
from refengine.testing.trace import difference

How: TypeAlias = Literal[
    "equal", "bag", "set", "order", "first", "last", "least", "most", "within"
]
HOW: Final[Mapping[How, str]] = {
    "equal": "the same entries in the same order",
    "bag": "the same entries in any order",
    "set": "the same entries, in any order and however often",
    "order": "the same order of the entries that both have",
    "first": "the same first entry",
    "last": "the same last entry",
    "least": "at least the entries on the left, in any order",
    "most": "at most the entries on the left, in any order",
    "within": "only entries that are on the left, in any order and however often",
}
"""How lanes are compared, and what that means."""
IN_ANY_ORDER: Final = frozenset(("bag", "set", "least", "most", "within"))
AT_MOST: Final = frozenset(("most", "within"))
EACH_ONCE: Final = frozenset(("set", "within"))

ROWS: Final = re.compile(
    r"(?P<kind>\w+)(?:>(?P<list>[\w.]+))?(?:\[(?P<where>[^\]]*)\])?(?P<rest>.*)"
)
ASKED: Final = re.compile(r"\s*(?P<path>[\w.?*-]+)(?:(?P<not>!?)=(?P<values>.*))?")
NOTHING: Final = object()

Entry: TypeAlias = "Mapping[str, Any]"
Key: TypeAlias = "tuple[Any, ...]"


class ProjectionError(ValueError):
    """A projection, or a condition on worlds, that cannot be read; says which part."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text!r}: {why}")


def value_at(entry: object, path: str) -> Any:  # noqa: ANN401  # a value of JSON
    """Return the value at a path, ``NOTHING`` if there is none; True or False for ?."""
    if is_mapping(entry) and path in entry:  # as nearly all: a key, and no way to one
        return entry[path]
    if path.endswith("?"):
        return value_at(entry, path[:-1]) not in (NOTHING, None)
    head, _, rest = path.partition(".")
    if head == "*" and is_list(entry):
        return [value_at(each, rest) for each in entry]
    if is_mapping(entry):
        found: Any = entry.get(head, NOTHING)
    elif is_list(entry) and re.fullmatch(r"-?\d+", head):
        found = entry[int(head)] if -len(entry) <= int(head) < len(entry) else NOTHING
    else:
        return NOTHING
    return value_at(found, rest) if rest else found


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a value has to be: one of some texts, or none of them."""

    path: str
    values: tuple[str, ...]
    negated: bool = False

    @classmethod
    def read(cls, text: str) -> Wanted:
        """Return it as it is written; raises ProjectionError."""
        match = ASKED.fullmatch(text)
        if match is None:
            raise ProjectionError(text, "write path=value, path!=value or path?")
        values = match["values"]
        path = match["path"]
        if values is None:
            return cls(path if path.endswith("?") else f"{path}?", ("true",))
        return cls(path, tuple(values.split("|")), bool(match["not"]))

    def holds(self, entry: Entry) -> bool:
        """Tell whether an entry is one that is wanted."""
        return (text_of(value_at(entry, self.path)) in self.values) is not self.negated


def text_of(value: object) -> str:
    """Return a value as conditions have it: a text as it is, all else as JSON."""
    if value is NOTHING:
        return ""
    if type(value) is int:  # the number of a run or a turn: the most by far
        return str(value)
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True, slots=True)
class EntryPattern:
    """One kind of observations that are compared: ``show`` is what of them.

    With ``each`` it is each entry of the list at that path.
    """

    kind: str
    where: tuple[Wanted, ...] = ()
    show: tuple[str, ...] = ()
    lanes: Mapping[str, str] = field(default_factory=dict[str, str])
    each: str | None = None

    @classmethod
    def read(cls, text: str) -> EntryPattern:
        """Return it as it is written; raises ProjectionError."""
        match = ROWS.fullmatch(text.strip())
        if match is None:
            raise ProjectionError(text, "write KIND[path=value] path ... @lane=path")
        where = [Wanted.read(x) for x in (match["where"] or "").split(",") if x.strip()]
        words = match["rest"].split()
        lanes = dict(each[1:].split("=", 1) for each in words if each[0] == "@")
        show = tuple(each for each in words if each[0] != "@")
        return cls(match["kind"], tuple(where), show, lanes, match["list"])

    @property
    def takes_of(self) -> tuple[object, ...]:
        """Return what says which entries it takes, the same for all who show others."""
        return self.kind, self.each, self.where

    def rows(self, entry: Entry) -> Iterator[Entry]:
        """Yield what an entry has of these: itself, or entries of its list."""
        if self.each is None:
            yield from (entry,) if self.takes(entry) else ()
            return
        found = value_at(entry, self.each)
        for nth, each in enumerate(found if is_list(found) else ()):
            row = {**entry, **(each if is_mapping(each) else {}), "nth": nth}
            if self.takes(row):
                yield row

    def takes(self, entry: Entry) -> bool:
        """Tell whether an entry is of these."""
        if self.kind != entry["kind"]:
            return False
        return all(each.holds(entry) for each in self.where)

    def shown(self, entry: Entry) -> list[Json]:
        """Return what is compared of an entry; a path that leads nowhere is None."""
        return [_plain(value_at(entry, each)) for each in self.show]


class TraceEntries(tuple[Entry, ...]):  # noqa: SLOT001  # keeps what was found once
    """The entries of a trace, which many projections are made of.

    Those of a kind are looked up, and what a pattern takes of them is found once.
    """

    @cached_property
    def _of_kind(self) -> Mapping[str, Sequence[tuple[int, Entry]]]:
        found: dict[str, list[tuple[int, Entry]]] = {}
        for place, entry in enumerate(self):
            found.setdefault(entry["kind"], []).append((place, entry))
        return found

    @cached_property
    def _taken(self) -> dict[object, Sequence[tuple[int, Entry]]]:
        return {}

    def taken_by(self, pattern: EntryPattern) -> Sequence[tuple[int, Entry]]:
        """Return the rows of a pattern, each behind the place of its entry."""
        asked = pattern.takes_of
        if asked not in self._taken:
            self._taken[asked] = [
                (at, row)
                for at, each in self._of_kind.get(pattern.kind, ())
                for row in pattern.rows(each)
            ]
        return self._taken[asked]


def _written(entry: Json) -> str:
    """Return an entry as a text that is the same for what is equal."""
    return json.dumps(entry, sort_keys=True)


def _plain(value: Any) -> Json:  # noqa: ANN401  # what ``value_at`` found
    """Return a value as JSON, None for nothing."""
    if is_list(value):
        return [_plain(each) for each in value]
    return None if value is NOTHING else value


@dataclass(frozen=True, slots=True)
class Lane:
    """What is compared of one lane, and where in the trace each entry stands."""

    entries: list[Json]
    places: list[int]

    def among(self, other: Lane) -> Lane:
        """Return only the entries that another lane has, too, as often as it does."""
        return self._parted(other)[0]

    def beyond(self, other: Lane) -> Sequence[int]:
        """Return the places of the entries that another lane does not have as often."""
        return self._parted(other)[1].places

    def _parted(self, other: Lane) -> tuple[Lane, Lane]:
        left = Counter(map(_written, other.entries))
        found = Lane([], []), Lane([], [])
        for entry, place in zip(self.entries, self.places, strict=True):
            text = _written(entry)
            side = found[not left[text]]
            left[text] -= left[text] > 0
            side.entries.append(entry)
            side.places.append(place)
        return found


class Projection(BaseModel):
    """What of a trace has to agree; ``lanes`` are the values that split it.

    Order counts within a lane alone, so a lane holds what depends on one another. An
    entry that has no value for a lane (a model is asked for all who listen) stands in
    each of them, or in one of its own where there is none. Of ``shared`` lanes only
    those count that both sides have: the others are what another clause is about.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    of: tuple[str, ...]
    lanes: str = "run"
    how: How = "equal"
    shared: bool = False

    @field_validator("of")
    @classmethod
    def _can_be_read(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for each in given:
            EntryPattern.read(each)
        return given

    @cached_property
    def patterns(self) -> tuple[EntryPattern, ...]:
        """What is compared, read once."""
        return tuple(map(EntryPattern.read, self.of))

    def lanes_of(self, entries: Sequence[Entry]) -> Mapping[Key, Lane]:
        """Return each lane of a trace, by the values that say which it is."""
        taken = self._taken(
            entries if isinstance(entries, TraceEntries) else TraceEntries(entries)
        )
        keys = dict.fromkeys(key for _, key, _ in taken if NOTHING not in key)
        lanes = {key: Lane([], []) for key in keys}
        for place, key, shown in taken:
            for lane in _matching(lanes, key):
                lane.entries.append(shown)
                lane.places.append(place)
        return {
            tuple("" if each is NOTHING else each for each in key): self._compared(lane)
            for key, lane in lanes.items()
        }

    def sides(self, left: Lane, right: Lane) -> tuple[Lane, Lane]:
        """Return what is compared of the two sides of a lane."""
        if self.how == "order":
            return left.among(right), right.among(left)
        if self.how == "least":
            return left, right.among(left)
        return (left.among(right) if self.how in AT_MOST else left), right

    def _taken(self, entries: TraceEntries) -> Sequence[tuple[int, Key, Json]]:
        """Return what is compared, with its place and its lane, in the trace's order.

        An entry is of the first pattern that takes it.
        """
        found: list[tuple[int, Key, Json]] = []
        places = set[int]()
        for each in self.patterns:
            rows = [x for x in entries.taken_by(each) if x[0] not in places]
            places.update(at for at, _ in rows)
            found += [(at, self._key(each, x), self._shown(each, x)) for at, x in rows]
        if len(self.patterns) > 1:
            found.sort(key=itemgetter(0))
        return found

    @cached_property
    def _names(self) -> Sequence[str]:
        return self.lanes.split()

    def _key(self, pattern: EntryPattern, row: Entry) -> Key:
        found = (value_at(row, pattern.lanes.get(x, x)) for x in self._names)
        return tuple(x if x is NOTHING else text_of(x) for x in found)

    def _shown(self, pattern: EntryPattern, row: Entry) -> Json:
        shown = pattern.shown(row)
        several = len(self.patterns) > 1
        return [pattern.kind, *shown] if several or not shown else shown

    def _compared(self, lane: Lane) -> Lane:
        entries, places = lane.entries, lane.places
        if self.how in IN_ANY_ORDER:
            texts = [_written(each) for each in entries]
            order = sorted(range(len(texts)), key=texts.__getitem__)
            if self.how in EACH_ONCE:
                order = [at for at in order if texts.index(texts[at]) == at]
            return Lane([entries[at] for at in order], [places[at] for at in order])
        if self.how == "first":
            return Lane(entries[:1], places[:1])
        if self.how == "last":
            return Lane(entries[-1:], places[-1:])
        return lane


def _matching(lanes: dict[Key, Lane], key: Key) -> Sequence[Lane]:
    """Return the lanes that an entry stands in."""
    if key in lanes:
        return [lanes[key]]
    found = [
        lane
        for each, lane in lanes.items()
        if all(b in (NOTHING, a) for a, b in zip(each, key, strict=True))
    ]
    return found or [lanes.setdefault(key, Lane([], []))]


@dataclass(frozen=True, slots=True)
class LaneDifference:
    """The first difference in a lane: where in it, both values, and where it was seen.

    ``number`` says which entry it is; ``place`` is where it stands in the trace on the
    right, None if it is not there; ``at`` is the earlier of its places in both: what
    differs behind the first difference of a world may be its consequence. ``lacks`` is
    the place on the left of what the right has not, ``more`` that of what it has
    instead, None if there is none.
    """

    path: str
    number: int
    left: Json
    right: Json
    place: int | None
    at: int
    lacks: int | None = None
    more: int | None = None


def lane_difference(left: Lane, right: Lane, how: How) -> LaneDifference | None:
    """Return how two sides of a lane differ first, None if they do not."""
    found = difference(left.entries, right.entries)
    if found is None:
        return None
    path, one, other = found
    number = int(path[1:].partition("]")[0]) if path.startswith("[") else 0
    places: list[Sequence[int]]
    places = [each.places[number : number + 1] for each in (left, right)]
    place = (*places[1], None)[0]
    if how in IN_ANY_ORDER:  # which are sorted, so what is unlike stands anywhere
        places = [left.beyond(right), right.beyond(left)]
    there = list(chain(*places))
    at = max(there) if how == "last" else min(there, default=0)
    apart = (min(each, default=None) for each in places)
    return LaneDifference(path, number, one, other, place, at, *apart)
