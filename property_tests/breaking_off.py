"""Where an engine leaves the reference's way: which clause says so, and what follows.

An engine that ends a run by itself, where the reference goes on, does nothing more in
it, so each clause about what the reference does would fail. One alone says that the run
ended, and is accused: that an error names where it arose, or, where the engine ran out
of iterations, those about how a run ends. So it is where an engine runs the calls that
a run was given before it asks the model, or has no wrapper around a call of a tool that
is not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from property_tests.dialects.compared import RightTrace, given_in
from property_tests.dialects.decision import DialectDecision
from refengine.messages import Json
from refengine.testing.json_values import is_list
from refengine.testing.projection import Entry, text_of, value_at

Found: TypeAlias = "Mapping[str, Sequence[DialectDecision]]"

NAMED: Final = ("ERR-014",)
"""The clause about errors that come from nowhere that a run could name."""
FRAMEWORK: Final = "FrameworkError: "
"""How an error is told that a framework itself raised. Others from nowhere are faults
of what a clause is about: an engine that loses the name of a hook, say.
"""
LIMIT: Final = "max_iterations"
GIVEN_FIRST: Final = ("MSG-002", "INS-009")
"""The clauses of what a first, or a later, run begins with: no call it was given."""
WRAPPED: Final = ("ORD-014",)
"""The clause of the wrappers around each call, also of a tool that is not there."""
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
        kind = str(row["kind"])
        if "call" not in row or kind not in FAR:
            return
        turn, call = (row["run"], row["turn"]), str(row["call"])
        self._open[*turn, call] += FAR[kind]
        ended = kind in ENDED and not self._open[*turn, call]
        self._last.setdefault(turn, {})[call] = "ended" if ended else kind

    def _several(self, run: object, turn: object) -> bool:
        """Tell whether more than one of them may have failed."""
        last = self._last.get((run, turn), {}).values()
        return sum(each not in ("ended", *IN_A_TOOL) for each in last) > 1


@dataclass(frozen=True, slots=True)
class Departure:
    """Where an engine left the way of the reference, and which clauses say so.

    ``given`` is how often the world had given something before. Without ``clauses`` it
    is those about how a run ends.
    """

    at: int
    given: int
    clauses: tuple[str, ...] = ()


def short_of_departures(
    found: Found, right: RightTrace, seen: Sequence[Entry]
) -> Found:
    """Return what clauses decide, without what follows from the first departure.

    Nothing is left out if no clause says that there was one.
    """
    if all(map(_hold, found.values())):  # as in nearly every world
        return found
    for each in sorted(_departures(right, seen), key=lambda one: one.given):
        left = dict(_left(found, each, right, seen))
        if any(_says(each, clause, all_) for clause, all_ in left.items()):
            return left
    return found


def _left(
    found: Found, gone: Departure, right: RightTrace, seen: Sequence[Entry]
) -> Iterator[tuple[str, Sequence[DialectDecision]]]:
    """Yield what is left of each clause that is left."""
    for clause, all_ in found.items():
        kept = [
            each
            for each in all_
            if each.holds
            or clause in gone.clauses
            or _is_before(each, gone, right)
            or (not gone.clauses and _is_an_end(each, right, seen))
        ]
        if len(kept) == len(all_) or not _hold(kept):
            yield clause, kept


def _says(gone: Departure, clause: str, left: Sequence[DialectDecision]) -> bool:
    """Tell whether a clause, by what is left of it, says that an engine departed."""
    return not _hold(left) and (not gone.clauses or clause in gone.clauses)


def _hold(decisions: Sequence[DialectDecision]) -> bool:
    return all(each.holds for each in decisions)


def _departures(right: RightTrace, seen: Sequence[Entry]) -> Iterator[Departure]:
    """Yield where an engine does what one clause is about, and others follow."""
    yield from _broken_off(right.entries, seen)
    for at, each in enumerate(seen):
        if _is_of_a_given_call(each) and not any(
            _is_of_a_given_call(one) and one["run"] == each["run"]
            for one in right.entries
        ):
            yield Departure(at, given_in(seen[:at]), GIVEN_FIRST)
            break
    entered = {_call(each) for each in seen if each.get("part") == "around_tool"}
    for at in _around_no_tool(right.entries):
        if _call(right.entries[at]) not in entered:
            given = right.given_before(at)
            yield Departure(_behind(given, seen), given, WRAPPED)
            break


def _broken_off(right: Sequence[Entry], seen: Sequence[Entry]) -> Iterator[Departure]:
    """Yield where an engine broke a run off that the reference did not."""
    theirs = {(each["run"], _point(each)) for each in right}
    for at, each in enumerate(seen):
        point = _point(each)
        if point in (FRAMEWORK, LIMIT) and (each["run"], point) not in theirs:
            clauses = NAMED if point == FRAMEWORK else ()
            yield Departure(at, given_in(seen[:at]), clauses)
            return


def _point(entry: Entry) -> object:
    """Return what ended a run, if an engine itself did: a framework, or a limit."""
    if entry["kind"] != "event":
        return None
    if text_of(value_at(entry, "error.text")).startswith(FRAMEWORK):
        return FRAMEWORK
    return value_at(entry, "error.point")


def _is_of_a_given_call(entry: Entry) -> bool:
    """Tell whether a call is run before a model was asked: one that a run was given."""
    begins = entry["kind"] == "tool_start" or entry.get("part") == "around_tool"
    goes_on = entry["resumed"]  # with calls that were asked for before
    return begins and entry["run"] > 0 and entry["turn"] == 0 and not goes_on


def _around_no_tool(entries: Sequence[Entry]) -> Iterator[int]:
    """Yield where a wrapper is entered around a call of a tool that is not there."""
    shown: dict[object, object] = {}
    for at, each in enumerate(entries):
        if each["kind"] == "model_request":
            shown[each["run"]] = value_at(each, "tools.*.name")
        elif each["kind"] == "hook_enter" and each.get("part") == "around_tool":
            names = shown.get(each["run"])
            if is_list(names) and value_at(each, "seen.tool") not in names:
                yield at


def _call(entry: Entry) -> tuple[object, ...]:
    return entry["run"], entry["turn"], entry.get("call")


def _behind(given: int, seen: Sequence[Entry]) -> int:
    """Return the first place before which the world had given so much."""
    for at, each in enumerate(seen):
        if given <= 0:
            return at
        given -= given_in((each,))
    return len(seen)


def _is_before(decision: DialectDecision, gone: Departure, right: RightTrace) -> bool:
    """Tell whether sides differ before an engine departed."""
    if decision.more is not None and decision.more < gone.at:
        return True
    if decision.lacks is None:
        return False
    return right.given_before(decision.lacks) < gone.given


def _is_an_end(
    decision: DialectDecision, right: RightTrace, seen: Sequence[Entry]
) -> bool:
    """Tell whether what differs is how a run ended."""
    if decision.lacks is not None:
        return bool(right.entries[decision.lacks]["kind"] == "run_end")
    return decision.more is not None and seen[decision.more]["kind"] == "run_end"
