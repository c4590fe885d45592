"""INT and SER: two laws of runs that go on, which need no oracle (contract INT, §5).

They compare an engine with itself: a run that was interrupted with one that was not,
and what a step is read as with what was written. So they guard the reference, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.comparing import apart
from property_tests.checks.specs import (
    tool_wraps,
)
from property_tests.variants import UNASKED
from property_tests.view import RunView, View
from refengine.messages import Json
from refengine.testing.scenario import ModelWrapSpec, Scenario, ToolWrapSpec
from refengine.testing.trace import Observation, in_call_order

RESUME: Final = frozenset(("resume",))
KEPT: Final = ("phase", "status", "messages", "locals", "pending")
COMPARED: Final = frozenset(
    (
        *("run_start", "run_end", "model_request", "model_response", "tool_start"),
        *("tool_end", "tool_error", "hook_enter", "hook_exit", "event"),
    )
)
"""What is the same in a run whether or not it was interrupted (the law of INT)."""


OTHERS: Final = frozenset(("state", "times", "time"))
"""Another in each run: the state that struct middlewares share, and the clock."""


def law(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that an interrupted run, its re-entries apart, is as one that was not."""
    profile = case.profile
    goes_on = profile.resumed_iteration == "goes_on"
    held = profile.events_at_interrupt == "held"
    if not (goes_on and held and profile.tool_events == "call_order"):
        return
    begun = [run.number for run in case.played.runs if run.spec.resume is None]
    plain = dict(zip(begun, case[UNASKED].runs, strict=False))
    for row, end in _ended(case):
        once = plain.get(row[0].number)
        if row[0].spec.continues and _refused_before(row[0], case.played):
            continue  # the turn before it left nothing to go on with
        if once is not None and len(row) > 1 and not _asks_an_answer(row):
            yield Decision(
                "a run that was interrupted, without what was entered again",
                _compared([once]),
                _compared(row),
                end,
            )


def _refused_before(run: RunView, view: View) -> bool:
    """Tell whether somebody resumed an earlier run that was not to be resumed."""
    return any(
        each.spec.resume is not None and each.error is not None
        for each in view.runs
        if each.number < run.number
    )


def comes_back(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that what is read is what was written, type-strict."""
    written: dict[object, Observation] = {}
    for each in case.played.trace.of("checkpoint"):
        key = each.data["key"]
        if each.data["op"] == "write":
            written[key] = each
        elif key in written:
            yield Decision(
                "what was kept, as it comes back",
                [written[key].data[name] for name in KEPT],
                [each.data[name] for name in KEPT],
                each,
            )


def _ended(case: PlayedWorld) -> Iterator[tuple[Sequence[RunView], Observation]]:
    """Yield runs that were interrupted, as rows that end, with their last entry.

    Where a profile begins an interrupted iteration again, only calls are left.
    """
    begins = case.profile.resumed_iteration == "begins_again"
    for row in map(_to_its_end, _rows(case.played)):
        questions = [each for run in row for each in _interrupts(run)]
        last = row[-1]
        refused = any(run.error is not None for run in row)
        if not questions or last.end is None or refused or _interrupts(last):
            continue
        if not (begins and any(e.call_id is None for e in questions)):
            yield row, last.end


def _to_its_end(row: Sequence[RunView]) -> Sequence[RunView]:
    """Return a row without the runs that must have been refused: it had ended."""
    at = next((at for at, run in enumerate(row, 1) if not _interrupts(run)), len(row))
    return row[:at]


def _compared(row: Sequence[RunView]) -> list[Json]:
    """Return the runs of a row as one, in call order."""
    compared = (
        each
        for run in row
        for each in run.entries
        if each.kind in COMPARED and not _is_again(run, each)
    )
    entries = [each.canonical() for each in apart(compared)]
    ends = [each for each in entries if each["kind"] == "run_end"]
    kept: list[dict[str, Json]] = []
    for each in entries:
        data = cast("Mapping[str, Any]", each["data"])
        middle = each["kind"] == "run_end" and each is not ends[-1]
        resumed = each["kind"] == "run_start" and "resume" in data
        if not (middle or resumed or data.get("kind") == "interrupt"):
            bare = {name: part for name, part in data.items() if name not in OTHERS}
            kept.append({**each, "run": 0, "seq": 0, "data": bare})
    return cast("list[Json]", in_call_order(kept))


def _asks_an_answer(row: Sequence[RunView]) -> bool:
    """Tell whether a wrapper asks when an open answer may have come back to it.

    What is asked then is kept with the whole answer, which no stream has waited for.
    """
    agent, streaming = row[0].agent, row[0].spec.streaming
    wraps = [each.wrap_model for each in agent.handlers if each.wrap_model is not None]
    asks: list[ModelWrapSpec | ToolWrapSpec] = [*wraps] if streaming else []
    if streaming or any(tool.kind != "invokable" for tool in agent.every_tool):
        asks += tool_wraps(agent)
    return any(each.ask is not None and each.ask.after for each in asks)


def _is_again(run: RunView, seen: Observation) -> bool:
    """Tell whether an entry is made again: a re-entry, or a hook of another build."""
    built = run.spec.rebuild and seen.data.get("hook") == "before_agent"
    return built or seen.data.get("reentry") is True


def _keeps(scenario: Scenario) -> bool:
    """Tell whether some run of a scenario is kept."""
    return scenario.keeps


def _keeps_what_is_read(scenario: Scenario) -> bool:
    """Tell whether some run is kept, and no consumer leaves a stream before its end."""
    return _keeps(scenario) and scenario.is_read_whole


def _rows(view: View) -> Iterator[Sequence[RunView]]:
    """Yield the runs that were kept under one key each, one after the other."""
    found: dict[str, list[RunView]] = {}
    for run in view.runs:
        key = run.spec.resume or run.spec.checkpoint
        if key is not None:
            found.setdefault(key, []).append(run)
    yield from found.values()


def _interrupts(run: RunView) -> tuple[Observation, ...]:
    """Return what a run was interrupted with."""
    return tuple(each for each in run.entries if each.kind == "interrupt")


CHECKS: Final = (
    Check(
        clause="INT-005",
        decide=law,
        needs=RESUME,
        variants=(UNASKED,),
        meant=_keeps_what_is_read,
    ),
    Check(clause="SER-001", decide=comes_back, needs=RESUME, meant=_keeps),
)
