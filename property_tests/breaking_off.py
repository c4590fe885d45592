"""Runs that end with an error: which clause says so, and which ones follow from it.

An engine that ends a run by itself, where the reference goes on, does nothing more in
it, so each clause about what the reference does would fail. One alone says that the run
ended, and is accused: that an error names where it arose, or, where the engine ran out
of iterations, those about how a run ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from property_tests.dialects.compared import RightTrace, given_in
from property_tests.dialects.decision import DialectDecision
from refengine.messages import Json
from refengine.testing.projection import Entry, value_at

Found: TypeAlias = "Mapping[str, Sequence[DialectDecision]]"

NAMED: Final = "ERR-014"
"""The clause about errors that come from nowhere that a run could name."""
NOWHERE: Final = "harness"
"""The point of an error of which nobody knows where it arose: a framework's, say."""
LIMIT: Final = "max_iterations"
FAR: Final = {
    "hook_enter": 1,
    "hook_exit": -1,
    **dict.fromkeys(("tool_start", "tool_chunk", "tool_end", "tool_error"), 0),
}
"""What tells how far a call came, and by how many wrappers it is deeper then."""
ENDED: Final = frozenset(("hook_exit", "tool_end"))
IN_A_TOOL: Final = ("tool_start", "tool_chunk")


class FailedCalls:
    """The calls of runs that have come to no end, and are not in a tool either."""

    def __init__(self) -> None:
        self._last: dict[tuple[object, object], dict[str, str]] = {}
        self._open: Counter[tuple[object, object, object]] = Counter()

    def look_at(self, row: dict[str, Json]) -> None:
        """Put down how far a call came, and in an error's event what came to no end."""
        if row.get("what") == "error":
            row["several"] = self._several(row["run"], row["turn"])
        if "call" not in row or row["kind"] not in FAR:
            return
        turn, call = (row["run"], row["turn"]), str(row["call"])
        self._open[*turn, call] += FAR[row["kind"]]
        ended = row["kind"] in ENDED and not self._open[*turn, call]
        self._last.setdefault(turn, {})[call] = "ended" if ended else row["kind"]

    def _several(self, run: object, turn: object) -> bool:
        """Tell whether more than one of them may have failed."""
        last = self._last.get((run, turn), {}).values()
        return sum(each not in ("ended", *IN_A_TOOL) for each in last) > 1


def short_of_a_break(found: Found, right: RightTrace, seen: Sequence[Entry]) -> Found:
    """Return what clauses decide, without what follows from a run that was broken off.

    Nothing is left out if no clause says that it was.
    """
    end = _end(right.entries, seen)
    if end is None:
        return found
    unnamed = value_at(seen[end], "error.point") == NOWHERE
    given = given_in(seen[:end])
    left: dict[str, Sequence[DialectDecision]] = {}
    for clause, all_ in found.items():
        if unnamed and clause == NAMED:
            left[clause] = all_
            continue
        kept = [
            each
            for each in all_
            if each.holds
            or _is_before(each, end, given, right)
            or (not unnamed and _is_an_end(each, right, seen))
        ]
        if len(kept) == len(all_) or any(not each.holds for each in kept):
            left[clause] = kept
    says = any(not each.holds for all_ in left.values() for each in all_)
    return left if says else found


def _end(right: Sequence[Entry], seen: Sequence[Entry]) -> int | None:
    """Return where an engine broke a run off that the reference did not, if it did."""
    theirs = {
        (each["run"], value_at(each, "error.point"))
        for each in right
        if each["kind"] == "event"
    }
    for at, each in enumerate(seen):
        point = value_at(each, "error.point") if each["kind"] == "event" else None
        if point in (NOWHERE, LIMIT) and (each["run"], point) not in theirs:
            return at
    return None


def _is_before(
    decision: DialectDecision, end: int, given: int, right: RightTrace
) -> bool:
    """Tell whether sides differ before the run was broken off."""
    if decision.more is not None and decision.more < end:
        return True
    return decision.lacks is not None and right.given_before(decision.lacks) < given


def _is_an_end(
    decision: DialectDecision, right: RightTrace, seen: Sequence[Entry]
) -> bool:
    """Tell whether what differs is how a run ended."""
    if decision.lacks is not None:
        return bool(right.entries[decision.lacks]["kind"] == "run_end")
    return decision.more is not None and seen[decision.more]["kind"] == "run_end"
