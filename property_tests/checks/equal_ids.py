"""CONC: calls of one message that have the same id are calls all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.calling import history_after, went_on
from property_tests.checks.executing import CalledBatch, every_batch
from property_tests.checks.passages import calls_next
from property_tests.checks.specs import keeps_ids, tool_wraps
from refengine.messages import Message, ToolCall
from refengine.testing.scenario import Scenario


def both_run(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that each of several calls with one id runs, is told and has its result."""
    for batch in every_batch(case.played):
        twice = [call for call in batch.calls if _ids(batch)[call.id] > 1]
        if not twice or not _undisturbed(batch):
            continue
        for call_id in dict.fromkeys(call.id for call in twice):
            calls = [call for call in twice if call.id == call_id]
            yield from _executed(batch, call_id, calls)
            yield from _told(batch, call_id, calls)
        yield from _kept(batch)


def _executed(
    batch: CalledBatch, call_id: str, calls: Sequence[ToolCall]
) -> Iterator[Decision]:
    seen = batch.now.calls.get(call_id)
    starts = seen.starts if seen else []
    expected = sorted([call.name, call.arguments] for call in calls)
    if any(each.rewrite_args is not None for each in tool_wraps(batch.agent)):
        expected = [[call.name, ""] for call in calls]
        got = sorted([str(each.data["name"]), ""] for each in starts)
        expected.sort()
    else:
        got = sorted([str(e.data["name"]), str(e.data["arguments"])] for e in starts)
    at = starts[-1] if starts else batch.now.response
    claim = f"executions for the {len(calls)} calls that have the id {call_id!r}"
    yield Decision(claim, expected, got, at)


def _told(
    batch: CalledBatch, call_id: str, calls: Sequence[ToolCall]
) -> Iterator[Decision]:
    events = [each for each in batch.now.tool_events if each.call_id == call_id]
    at = events[-1] if events else batch.now.response
    claim = f"events of the results of the calls that have the id {call_id!r}"
    yield Decision(claim, len(calls), len(events), at)


def _kept(batch: CalledBatch) -> Iterator[Decision]:
    """Yield whether each call has a result in the history, in call order."""
    seen = history_after(batch.run, batch.now)
    if seen is None:
        return
    ids = {call.id for call in batch.calls}
    results = _since_calls([*seen[0]], ids)
    if len(seen[0]) and results is not None:
        claim = "results in the history of calls that have the same id, in call order"
        expected = [call.id for call in batch.calls]
        yield Decision(claim, expected, [m.tool_call_id for m in results], seen[1])
        whole = _whole_results(batch)
        if whole is not None:
            claim = "what the results of calls that have the same id say"
            yield Decision(claim, whole, sorted(m.content for m in results), seen[1])


def _since_calls(history: Sequence[Message], ids: set[str]) -> list[Message] | None:
    """Return the results behind the last message that asks for such calls."""
    for at in range(len(history) - 1, -1, -1):
        if {call.id for call in history[at].tool_calls} & ids:
            return [m for m in history[at + 1 :] if m.role == "tool"]
    return None


def _whole_results(batch: CalledBatch) -> list[str] | None:
    """Return what the executions gave, where no wrapper changes it."""
    if any(True for _ in tool_wraps(batch.agent)):
        return None
    ends = [end for seen in batch.now.calls.values() for end in seen.ends]
    return sorted(str(each.data["result"]) for each in ends)


def _ids(batch: CalledBatch) -> Counter[str]:
    return Counter(call.id for call in batch.calls)


def _undisturbed(batch: CalledBatch) -> bool:
    """Tell whether each call reaches its tool, and its result the history."""
    wraps = list(tool_wraps(batch.agent))
    plain = all(
        calls_next(each)
        and each.factory_error is None
        and each.set_input_name is None
        and each.call_next == 1
        for each in wraps
    )
    known = all(map(batch.knows, batch.calls))
    kept = not batch.run.spec.resume and batch.run.status != "interrupted"
    return (
        plain
        and known
        and kept
        and keeps_ids(batch.agent)
        and went_on(batch.run, batch.now)
    )


def _has_equal_ids(scenario: Scenario) -> bool:
    return any("[" in str(each) or "{" in str(each) for each in scenario.model_script)


CHECKS: Final = (
    Check(
        clause="CONC-014",
        decide=both_run,
        needs=frozenset(("equal_call_ids", "parallel_calls")),
        meant=_has_equal_ids,
    ),
)
