"""Checks of parts: a fold of events, in the order in which they began; and of forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.stream_loop.view import (
    Data,
    LoopEntry,
    LoopPlay,
    LoopRound,
    LoopRun,
    LoopView,
)
from refengine.testing.trace import Trace, comparable

Decisions = Iterator[DialectDecision]

PARTS: Final = frozenset(("parts",))
OPEN: Final = frozenset(("streaming", "ready", "executing"))
PROGRESS: Final[Mapping[str, int]] = MappingProxyType(
    {"streaming": 0, "ready": 1, "executing": 2, "done": 3, "error": 3}
)
KEPT: Final = ("call_id", "name", "error")


def _usual(seen: LoopView) -> Iterator[LoopRun]:
    """Yield the runs that no callback broke off, if somebody hears of parts."""
    if not seen.hears("on_part_event"):
        return
    for run in seen.runs:
        if not (run.raised and seen.profile.raising_callback == "aborts"):
            yield run


def fold(events: Sequence[Data]) -> list[Data]:
    """Return the parts that events make, in their places."""
    parts: dict[str, dict[str, Any]] = {}
    for each in events:
        old = parts.get(each["id"], {})
        text = old.get("text", "") + each.get("text", "")
        new = {**each, "text": text}
        for key in KEPT:
            new[key] = each.get(key) or old.get(key, "")
        parts[each["id"]] = {key: x for key, x in new.items() if x != ""}
    return list(parts.values())


def _whole(seen: LoopView) -> Iterator[LoopRun]:
    """Yield the usual runs that nobody cancelled while a change was told."""
    for run in _usual(seen):
        if not run.cancelled and not seen.scenario.limits.round_seconds:
            yield run


def snapshots(seen: LoopView) -> Decisions:
    """LOOP-050: behind each change the parts are told that the changes made so far."""
    if not seen.hears("on_parts_change"):
        return
    for run in _whole(seen):
        events: list[Data] = []
        told = run.told("on_part_event", "on_parts_change")
        for before, after in pairwise([*told, None]):
            if before is None or before.callback != "on_part_event":
                continue
            events.append(before.fact)
            got = after.fact if after and after.callback == "on_parts_change" else None
            claim = "the parts behind this change"
            yield DialectDecision(claim, fold(events), got, before.place)


def final_parts(seen: LoopView) -> Decisions:
    """LOOP-051: the parts of a result are what all changes made."""
    for run in _whole(seen):
        if run.result is not None:
            expected = fold([x.fact for x in run.told("on_part_event")])
            got = list(run.result["parts"])
            yield DialectDecision("the parts", expected, got, run.end.place)


def only_forward(seen: LoopView) -> Decisions:
    """LOOP-052: a part keeps its id, place and kind, and its state goes forward."""
    for run in _usual(seen):
        known: dict[str, Data] = {}
        for each in run.told("on_part_event"):
            event: Data = each.fact
            old = known.setdefault(event["id"], event)
            claim = f"part {event['id']} stays what it is"
            keys = ("place", "kind")
            expected = [old[key] for key in keys]
            got = [event[key] for key in keys]
            yield DialectDecision(claim, expected, got, each.place)
            forward = PROGRESS[old["state"]] <= PROGRESS[event["state"]]
            claim = f"part {event['id']} goes from {old['state']} to {event['state']}"
            yield DialectDecision(claim, [True], [forward], each.place)
            known[event["id"]] = event


def places(seen: LoopView) -> Decisions:
    """LOOP-053: parts stand in the order in which they began, each with its text."""
    for run in _whole(seen):
        for each in run.rounds:
            if each.streamed and each.finished:
                rows = fold([x.fact for x in each.told("on_part_event")])
                ours = [x for x in rows if x["kind"] != "tool_result"]
                got = [[x["kind"], x.get("name", ""), x.get("text", "")] for x in ours]
                claim = f"the parts of round {each.number}"
                expected = _expected_parts(each)
                yield DialectDecision(claim, expected, got, each.entries[-1].place)


def _expected_parts(each: LoopRound) -> list[list[str]]:
    """Return kind, name and text of what a stream is made of."""
    found: list[list[str]] = []
    calls = list(each.calls)
    begun = 0
    text_open = False
    for chunk in each.chunks:
        if text := chunk.data.get("text", ""):
            if text_open:
                found[-1][2] += text
            else:
                found.append(["text", "", text])
            text_open = True
        while begun < len(calls) and calls[begun].place == chunk.place:
            call = calls[begun]
            found.append(["tool_call", call.name, call.arguments])
            begun, text_open = begun + 1, False
    return found


def result_parts(seen: LoopView) -> Decisions:
    """LOOP-054: each result is a part, in the order of the calls."""
    if not seen.hears("on_tool_result"):
        return
    for run in _whole(seen):
        for each in run.rounds:
            if each.finished and each.results:
                rows = fold([x.fact for x in each.told("on_part_event")])
                ours = [x for x in rows if x["kind"] == "tool_result"]
                got = [[x.get("call_id"), x.get("text", ""), x["state"]] for x in ours]
                expected = [
                    [x["call_id"], x["text"], "error" if "error" in x else "done"]
                    for x in each.results
                ]
                claim = f"the results among the parts of round {each.number}"
                yield DialectDecision(claim, expected, got, each.entries[-1].place)


def states_of_calls(seen: LoopView) -> Decisions:
    """LOOP-055: a call is ready, then executed, then done or in error."""
    for run in _whole(seen):
        for each in run.rounds:
            if not each.finished:
                continue
            states: dict[str, list[str]] = {}
            for one in each.told("on_part_event"):
                if one.fact["kind"] == "tool_call":
                    row = states.setdefault(one.fact["id"], [])
                    row.extend([one.fact["state"]] if _changes(row, one) else [])
            for part, got in states.items():
                ends = "error" if got[-1] == "error" else "done"
                begun = ["streaming"] if got[0] == "streaming" else []
                expected = [*begun, "ready", "executing", ends]
                claim = f"the states of {part}"
                yield DialectDecision(claim, expected, got, each.entries[-1].place)


def _changes(row: Sequence[str], one: LoopEntry) -> bool:
    return not row or row[-1] != one.fact["state"]


def nothing_open(seen: LoopView) -> Decisions:
    """LOOP-056: no part is open when a run has ended, or it stays as it was."""
    ends = seen.profile.open_parts == "ended"
    for run in _usual(seen):
        rows = fold([x.fact for x in run.told("on_part_event")])
        left = [x["id"] for x in rows if x["state"] in OPEN]
        if ends:
            yield DialectDecision("parts that are open", [], left, run.end.place)
        elif run.broke is not None and not run.cancelled:
            place = run.broke.place
            got = [x.fact["id"] for x in run.told("on_part_event") if x.place > place]
            claim = "changes behind the break of the stream"
            yield DialectDecision(claim, [], got, run.end.place)


def in_other_chunks(seen: LoopView) -> Decisions:
    """LOOP-057: other chunks of the same streams make the same parts."""
    quiet = not seen.scenario.callbacks and not seen.scenario.limits.round_seconds
    if seen.scenario.compares != "cuts" or not quiet:
        return
    one, other = seen.plays
    for left, right in zip(one.runs, other.runs, strict=True):
        if left.cancelled or right.cancelled:
            continue
        expected, got = ((x.result or {}).get("parts") for x in (left, right))
        claim = "the parts of the same streams in chunks of one character"
        yield DialectDecision(claim, expected, got, right.end.place)


def forms(seen: LoopView) -> Decisions:
    """LOOP-060: where no result asks for another round, both forms do the same."""
    if seen.scenario.compares != "forms":
        return
    given = any(x.max_iterations is not None for x in seen.scenario.turns)
    asks = any(seen.asking(x) for run in seen.plays[1].runs for x in run.rounds)
    asked = any(ran.asks for run in seen.runs for x in run.rounds for ran in x.runs)
    if not (given or asks or asked):
        yield from _same(seen, "what the loop does, against one round")


def adapted(seen: LoopView) -> Decisions:
    """LOOP-061: so does a loop that was made of a processor of one round."""
    if seen.scenario.compares != "adapted":
        return
    asked = any(ran.asks for run in seen.runs for x in run.rounds for ran in x.runs)
    if not asked:
        yield from _same(seen, "what the adapted processor does, against itself")


def _same(seen: LoopView, claim: str) -> Decisions:
    one, other = (_seen(each) for each in seen.plays)
    yield DialectDecision(claim, one, other, seen.plays[1].observations[0].seq)


def _seen(play: LoopPlay) -> list[object]:
    first = play.observations[1].run if len(play.observations) > 1 else 0
    rows = comparable(Trace(play.observations[1:]))
    return [{**each, "run": int(str(each["run"])) - first} for each in rows]


CHECKS: Final = (
    DialectCheck(clause="LOOP-050", decide=snapshots, needs=PARTS),
    DialectCheck(
        clause="LOOP-051", decide=final_parts, needs=PARTS | frozenset(("status",))
    ),
    DialectCheck(clause="LOOP-052", decide=only_forward, needs=PARTS),
    DialectCheck(clause="LOOP-053", decide=places, needs=PARTS),
    DialectCheck(clause="LOOP-054", decide=result_parts, needs=PARTS),
    DialectCheck(clause="LOOP-055", decide=states_of_calls, needs=PARTS),
    DialectCheck(clause="LOOP-056", decide=nothing_open, needs=PARTS),
    DialectCheck(
        clause="LOOP-057",
        decide=in_other_chunks,
        needs=PARTS | frozenset(("status",)),
    ),
    DialectCheck(clause="LOOP-060", decide=forms, needs=frozenset(("linear", "loops"))),
    DialectCheck(
        clause="LOOP-061", decide=adapted, needs=frozenset(("linear", "adapted"))
    ),
)
"""Clauses about parts, and about the two forms."""
