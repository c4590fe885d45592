"""INT and SER: a run that goes on, and what it finds again (contract INT, §5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.comparing import apart
from property_tests.checks.kept_runs import (
    address_of,
    begins_anew,
    cuts,
    cuts_in,
    interrupts,
    is_again,
    keeps,
    left_open,
    plain_calls,
    rows,
    runs_once,
    who,
)
from property_tests.checks.outcomes import Due
from property_tests.checks.specs import (
    all_tools,
    answers_itself,
    keeps_results,
    tool_wraps,
    writes_options,
)
from property_tests.checks.threading_values import RunLocalReads
from property_tests.variants import UNASKED
from property_tests.view import AFTER, BEFORE, RunView, View
from refengine.messages import Json
from refengine.testing.notation import parse_message
from refengine.testing.scenario import ModelWrapSpec, ToolWrapSpec
from refengine.testing.trace import Observation, in_call_order

RESUME: Final = frozenset(("resume",))
PASSES: Final = BEFORE | AFTER
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


def hooks_once(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that hooks of a pass are entered once an iteration, however often asked.

    Those after the agent are, once.
    """
    for row, end in _ended(case):
        iterations = end.data["iterations"]
        entered = Counter(
            who(each)[:3]
            for run in row
            for each in run.entries
            if each.kind == "hook_enter"
            and each.data["hook"] in {*PASSES, "after_agent"}
            and not is_again(each)
        )
        for hook, count in entered.items():
            once = hook[0] == "after_agent"
            often = "one a run" if once else "one an iteration"
            claim = f"entries into {hook[0]} of {hook[1]}, {often}"
            yield Decision(claim, 1 if once else iterations, count, end)


def finished_once(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a tool that had ended is not executed again, and its result is there."""
    plain = (row for row in rows(case.played) if not _comes_again(row))
    for cut in (cut for row in plain for cut in cuts_in(row)):
        again = [each for each in cut.after.entries if each.kind == "tool_start"]
        for end in (each for each in cut.before.entries if each.kind == "tool_end"):
            mine = [each for each in again if each.call_id == end.call_id]
            claim = "executions of a tool that had ended, after the run went on"
            yield Decision(claim, 0, len(mine), (mine or [end])[0])
            shown = _shown_result(cut.after, end.call_id)
            kept = keeps_results(cut.after.agent)
            if shown is not None and kept and end.call_id in cut.calls:
                claim = "the result that its wrappers are given again"
                text = str(end.data["result"])
                yield Decision(claim, text, text if text in shown else shown, end)


def entered_again(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that what had not ended is entered again, marked."""
    for cut in cuts(case.played):
        open_ = [e for e in left_open(cut.before) if e.call_id in cut.calls]
        if cut.after.status == "interrupted" and not cut.in_tools:
            continue  # what stands further in may not have been reached
        if begins_anew(cut, case.profile):
            continue
        for each in open_:
            same = (e for e in cut.after.entries if e.kind == each.kind)
            entry = next((e for e in same if who(e) == who(each)), None)
            claim = f"whether {who(each)[0]} is entered again, and marked so"
            got = None if entry is None else is_again(entry)
            yield Decision(claim, expected=True, got=got, at=entry or cut.after.end)


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


def model_once(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that the model is asked once an iteration, however often a person is.

    One that failed is asked again where there is a policy.
    """
    for row, end in _ended(case):
        kinds = Counter(str(e.kind) for run in row for e in run.entries)
        asked = kinds["model_request"] - kinds["model_error"]
        claim = "model calls of a run that was interrupted, one an iteration"
        yield Decision(claim, end.data["iterations"], asked, end)


def reported_once(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that the event of each result comes once, before or after it is resumed."""
    for row, end in _ended(case):
        events = [
            each.call_id
            for run in row
            for each in run.events
            if each.data.get("kind") == "tool"
        ]
        if any(answers_itself(run.agent) for run in row) or _comes_again(row):
            continue  # it may have a result of a tool that was never executed
        executed = {
            each.call_id
            for run in row
            for each in run.entries
            if each.kind == "tool_start"
        }
        expected = [each for each in _asked_for(row) if each in executed]
        got = [*map(str, events)]
        profile = case.profile
        in_order = profile.tool_events == "call_order"
        if not in_order or profile.events_at_interrupt != "held":
            expected, got = sorted(expected), sorted(got)
        claim = "events of results, each once, in call order"
        yield Decision(claim, expected, got, end)


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


def same_surroundings(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that context and run-local values are there when a run goes on."""
    for cut in cuts(case.played):
        for each in left_open(cut.before):
            again = next((e for e in cut.after.entries if _is_again(e, each)), None)
            if again is not None:
                claim = "the context that is handed to what is entered again"
                yield Decision(claim, each.data["ctx"], again.data["ctx"], again)
    due = Due(case.played)
    for row in map(_to_its_end, rows(case.played)):
        reads = RunLocalReads(row[0].agent, due)
        for run in row:
            for right, note, at, _ in reads.of(run):
                if run is not row[0]:
                    claim = "a run-local value after the run went on, as it was set"
                    yield Decision(claim, right, note, at)


def own_options(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a run that goes on has the options it is given, and none from before."""
    for cut in cuts(case.played):
        if writes_options(cut.after.agent):
            continue
        for each in cut.after.entries:
            if each.kind in {"tool_start", "model_request"}:
                claim = "options of a run that goes on: those of its resume"
                expected = dict(cut.after.spec.options)
                yield Decision(claim, expected, each.data["options"], each)


def _ended(case: PlayedWorld) -> Iterator[tuple[Sequence[RunView], Observation]]:
    """Yield runs that were interrupted, as rows that end, with their last entry.

    Where a profile begins an interrupted iteration again, only calls are left.
    """
    begins = case.profile.resumed_iteration == "begins_again"
    for row in map(_to_its_end, rows(case.played)):
        questions = [each for run in row for each in interrupts(run)]
        last = row[-1]
        refused = any(run.error is not None for run in row)
        if not questions or last.end is None or refused or interrupts(last):
            continue
        if not (begins and any(address_of(e).get("tool") is None for e in questions)):
            yield row, last.end


def _to_its_end(row: Sequence[RunView]) -> Sequence[RunView]:
    """Return a row without the runs that must have been refused: it had ended."""
    at = next((at for at, run in enumerate(row, 1) if not interrupts(run)), len(row))
    return row[:at]


def _comes_again(row: Sequence[RunView]) -> bool:
    """Tell whether the model asks for a second call of the same id."""
    ids = _asked_for(row)
    return len(set(ids)) < len(ids)


def _asked_for(row: Sequence[RunView]) -> list[str]:
    """Return the ids of the calls that the model asked for, in order."""
    iterations = (each for run in row for each in run.iterations)
    answers = (each.message for each in iterations if each.message is not None)
    return [call.id for answer in answers for call in answer.tool_calls]


def _compared(row: Sequence[RunView]) -> list[Json]:
    """Return the runs of a row as one, in call order."""
    compared = (
        each
        for run in row
        for each in run.entries
        if each.kind in COMPARED and not is_again(each) and not _of_building(run, each)
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
    if streaming or any(tool.kind != "invokable" for tool in all_tools(agent)):
        asks += tool_wraps(agent)
    return any(each.ask is not None and each.ask.after for each in asks)


def _of_building(run: RunView, seen: Observation) -> bool:
    """Tell whether a hook ran because the agent was built anew for a run."""
    return run.spec.rebuild and seen.data.get("hook") == "before_agent"


def _is_again(seen: Observation, first: Observation) -> bool:
    return seen.kind == first.kind and is_again(seen) and who(seen) == who(first)


def _shown_result(run: RunView, call_id: str | None) -> str | None:
    """Return the result of a call as the consumer saw it."""
    for each in run.events:
        if each.call_id == call_id and each.data.get("kind") == "tool":
            chunks = cast("Sequence[str] | None", each.data.get("stream"))
            if chunks is not None:
                return "".join(parse_message(chunk).content for chunk in chunks)
            return str(each.data.get("message"))
    return None


CHECKS: Final = (
    Check(clause="INT-002", decide=hooks_once, needs=RESUME, meant=keeps),
    Check(clause="INT-003", decide=finished_once, needs=RESUME, meant=runs_once),
    Check(clause="INT-004", decide=entered_again, needs=RESUME, meant=plain_calls),
    Check(
        clause="INT-005",
        decide=law,
        needs=RESUME,
        variants=(UNASKED,),
        meant=keeps,
    ),
    Check(clause="INT-011", decide=model_once, needs=RESUME, meant=keeps),
    Check(clause="INT-012", decide=reported_once, needs=RESUME, meant=keeps),
    Check(clause="SER-001", decide=comes_back, needs=RESUME, meant=keeps),
    Check(clause="SER-008", decide=same_surroundings, needs=RESUME, meant=keeps),
    Check(clause="SER-009", decide=own_options, needs=RESUME, meant=keeps),
)
