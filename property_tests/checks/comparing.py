"""Comparing what was observed twice, as a decision: alike, or where it first differs.

For clauses that say two sessions, two runs or two agents must be the same. Entries of
concurrent calls are put in call order first, since between calls there is no order
(contract CONC).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from property_tests.agreeing import Known, agree_tables
from property_tests.check import PLAYED, Decision
from refengine.messages import Json, Message
from refengine.testing.trace import (
    LAST,
    MISSING,
    Observation,
    difference,
    in_call_order,
)

Entry: TypeAlias = "dict[str, Any]"
"""One observation as JSON values."""
Data: TypeAlias = "Mapping[str, Any]"
"""What an observation holds, as it was seen or as JSON values."""

ALIKE: Final = "alike"
ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


NO_NAMES: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """What may differ between two lists of observations, and is left out.

    It goes by the texts of an observation only, so that it does the same to what was
    seen and to that as JSON values.
    """

    drops: Callable[[str, Data], bool] = lambda _, __: False
    """Tells, by kind and data, whether the whole observation is left out."""
    names: Callable[[str], frozenset[str]] = lambda _: NO_NAMES
    """Names the fields of the data that are left out, by kind."""
    run: Callable[[int], int] = lambda run: run
    """Gives the number of the run as it is compared."""

    def of(self, entry: Entry) -> Entry | None:
        """Return an entry without what may differ; None if it is left out."""
        kind, data = entry["kind"], entry["data"]
        if self.drops(kind, data):
            return None
        names = self.names(kind)
        left = {key: value for key, value in data.items() if key not in names}
        return {**entry, "run": self.run(entry["run"]), "data": left}


AS_IT_IS: Final = Change()


def alike(
    asked: str,
    expected: Iterable[Observation],
    got: Iterable[Observation],
    *,
    change: Change = AS_IT_IS,
    variant: str = PLAYED,
) -> Decision:
    """Decide that two lists of observations are the same, numbers of theirs apart.

    A decision against it shows the first entry of ``got`` that differs, and both
    values there.
    """
    seen, wanted = list(got), list(expected)
    if _plainly(wanted, seen, change):
        return Decision(asked, ALIKE, ALIKE, seen[-1] if seen else None, variant)
    ours, theirs = _entries(wanted, change), _entries(seen, change)
    for at in range(max(len(ours), len(theirs))):
        found = _parted(ours, theirs, at)
        if found is not None:
            path, left, right = found
            where = path or "entry"
            place = _place(seen, theirs, at)
            return Decision(asked, {where: left}, {where: right}, place, variant)
    return Decision(asked, ALIKE, ALIKE, seen[-1] if seen else None, variant)


def _plainly(
    expected: Sequence[Observation], got: Sequence[Observation], change: Change
) -> bool:
    """Tell at once that two lists are the same; False tells nothing."""
    ours, theirs = _in_order(expected), _in_order(got)
    if ours is None or theirs is None:
        return False
    if change is not AS_IT_IS:
        ours = [each for each in ours if not change.drops(each.kind, each.data)]
        theirs = [each for each in theirs if not change.drops(each.kind, each.data)]
    known: Known = set()
    return len(ours) == len(theirs) and all(
        a.kind == b.kind
        and a.call_id == b.call_id
        and change.run(a.run) == change.run(b.run)
        and agree_tables(a.data, b.data, known, change.names(a.kind))
        for a, b in zip(ours, theirs, strict=True)
    )


def _in_order(found: Sequence[Observation]) -> Sequence[Observation] | None:
    """Return observations as ``in_call_order`` puts entries; None if that is not plain.

    It is not where an answer is no message of ours.
    """
    out: list[Observation] = []
    order: dict[str, int] = {}
    block: list[tuple[int, Observation]] = []
    for each in found:
        call_id = each.call_id
        if call_id is not None:
            place = order.setdefault(call_id, len(order))
            block.append((LAST if each.kind == "event" else place, each))
            continue
        if block:
            out.extend(one for _, one in sorted(block, key=_placed))
            block.clear()
        out.append(each)
        if each.kind == "model_response":
            message = each.data.get("message")
            if not isinstance(message, Message):
                return None
            numbered = reversed(list(enumerate(message.tool_calls)))
            order = {call.id or "": at for at, call in numbered}
    out.extend(one for _, one in sorted(block, key=_placed))
    return out


def _placed(each: tuple[int, Observation]) -> int:
    return each[0]


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
        left = change.of(entry)
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
