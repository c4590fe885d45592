"""Comparing what was observed twice, as a decision: alike, or where it first differs.

For clauses that say two sessions, two runs or two agents must be the same. Entries of
concurrent calls are put in call order first, since between calls there is no order
(contract CONC).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from property_tests.check import PLAYED, Decision
from refengine.messages import Json
from refengine.testing.trace import MISSING, Observation, difference, in_call_order

Entry: TypeAlias = "dict[str, Any]"
"""One observation as JSON values."""
Change: TypeAlias = "Callable[[Entry], Entry | None]"
"""Takes out of an entry what may differ; None leaves the whole entry out."""

ALIKE: Final = "alike"
ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


def as_it_is(entry: Entry) -> Entry:
    """Compare everything."""
    return entry


def without(entry: Entry, *names: str) -> Entry:
    """Return the entry with these fields of its data left out."""
    data = {key: value for key, value in entry["data"].items() if key not in names}
    return {**entry, "data": data}


def alike(
    asked: str,
    expected: Iterable[Observation],
    got: Iterable[Observation],
    *,
    change: Change = as_it_is,
    variant: str = PLAYED,
) -> Decision:
    """Decide that two lists of observations are the same, numbers of theirs apart.

    A decision against it shows the first entry of ``got`` that differs, and both
    values there.
    """
    seen = list(got)
    ours, theirs = _entries(expected, change), _entries(seen, change)
    for at in range(max(len(ours), len(theirs))):
        found = _parted(ours, theirs, at)
        if found is not None:
            path, left, right = found
            where = path or "entry"
            place = _place(seen, theirs, at)
            return Decision(asked, {where: left}, {where: right}, place, variant)
    return Decision(asked, ALIKE, ALIKE, seen[-1] if seen else None, variant)


def _parted(
    ours: Sequence[Entry], theirs: Sequence[Entry], at: int
) -> tuple[str, Json, Json] | None:
    left, right = (
        _unnumbered(side[at]) if at < len(side) else MISSING for side in (ours, theirs)
    )
    return difference(left, right)


def _unnumbered(entry: Mapping[str, Json]) -> Json:
    """Return an entry without its number, and without the addresses of objects.

    A text may tell an object by its address, which is another one each time.
    """
    return {key: _plain(value) for key, value in entry.items() if key != "seq"}


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return ADDRESS.sub("", value) if isinstance(value, str) else value


def _entries(found: Iterable[Observation], change: Change) -> list[Entry]:
    return list(_kept(in_call_order(each.canonical() for each in found), change))


def _kept(entries: Iterable[Entry], change: Change) -> Iterator[Entry]:
    for entry in entries:
        left = change(entry)
        if left is not None:
            yield left


def _place(
    seen: Sequence[Observation], entries: Sequence[Entry], at: int
) -> Observation | None:
    """Return the observation that an entry was made of; None if it is missing."""
    if at >= len(entries):
        return None
    seq = entries[at]["seq"]
    return next((each for each in seen if each.seq == seq), None)
