"""EVT: what the consumer of a run receives (contract §2 EVT)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.histories import response_of, turns
from property_tests.checks.model_onions import (
    chunks_of,
    shown_model,
    shown_result,
    text_of_model,
    text_of_tool,
)
from property_tests.checks.onions import changes_call_id, onion_of
from property_tests.checks.wrapping import Called, calls_of
from property_tests.remembering import each_once
from property_tests.view import Iteration, RunView, View
from refengine.messages import Message
from refengine.testing.trace import Observation

_AFTER: Final = frozenset(("after_model", "struct_model_hooks"))


def model_event(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that there is exactly one event for each response of the model."""
    for _, now, _ in _answered(case.played):
        claim = "one event for a response of the model"
        yield Decision(claim, 1, len(now.model_events), _of(now))
        claim = "the event of a response is under no call id"
        for each in now.model_events:
            yield Decision(claim, None, each.call_id, each)
    for run in case.played.runs:
        answers = sum(_kind(each) == "model" for each in run.events)
        attempts = (each for now in run.iterations for each in now.attempts)
        given = sum(len(each.model_events) for each in attempts)
        yield Decision("no event before a response", given, answers, run.end)


def model_content(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the event of a response shows its text and its calls."""
    for run, now, response in _answered(case.played):
        if len(now.model_events) == 1:
            yield from _shows(run, now, response, "the event shows the response")


def snapshot(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that what after-hooks make of a response does not change its event."""
    for run, now, response in _answered(case.played):
        left = now.after[-1].left if now.after else None
        if len(now.model_events) == 1 and left and left[-1] != response:
            claim = "the event shows the response as it came, whatever hooks make of it"
            yield from _shows(run, now, response, claim)


def tool_event(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that there is exactly one event for each result of a tool."""
    for called in calls_of(case.played):
        onion = onion_of(called.run.agent, called.seen, called.call)
        left = called.run.left_in(called.now)
        if onion is None or onion.result is None or left:
            continue
        if not _failed(called):
            events = called.seen.events
            at = events[0] if events else called.seen.entries[-1]
            yield Decision("one event for a result", 1, len(events), at)


def failed_call(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a call which failed before it gave anything has no event."""
    for called in calls_of(case.played):
        onion = onion_of(called.run.agent, called.seen, called.call)
        if onion is None or len(onion.roots) != 1:
            continue
        [root] = onion.roots
        if root.raised is not None and _failed(called):
            at = (called.seen.events or called.seen.entries)[-1]
            claim = "a call that failed has no event"
            yield Decision(claim, 0, len(called.seen.events), at)


def tool_content(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the event of a result shows what left the onion of the call."""
    for called in calls_of(case.played):
        onion = onion_of(called.run.agent, called.seen, called.call)
        if onion is None or onion.result is None or len(called.seen.events) != 1:
            continue
        [event] = called.seen.events
        claim = "the event shows the result of the call"
        yield Decision(claim, shown_result(onion.result), text_of_tool(event), event)


def call_id(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that every event of a result is under the id of the call it is of.

    That is a call of its message that has no event yet, and where the text tells which
    one, just that.
    """
    results = _results(case.played)
    for run in case.played.runs:
        if changes_call_id(run.agent):
            continue
        for turn in turns(case.played, run):
            left = [call.id for call in turn.route.calls]
            texts = results.get(id(turn.now), {})
            known = len(texts) == len(left)
            for event in turn.now.tool_events:
                wanted = (_with_its_text(event, texts) if known else []) or [*left]
                got = event.call_id
                fits = got in wanted and got in left
                claim = "the id of the call whose result it is stands on the event"
                yield Decision(claim, got if fits else wanted, got, event)
                if fits and got is not None:
                    left.remove(got)


def _results(view: View) -> Mapping[int, Mapping[str, str]]:
    """Return what the calls of each iteration gave, as events show it, by their ids."""
    found: dict[int, dict[str, str]] = {}
    for called in calls_of(view):
        onion = onion_of(called.run.agent, called.seen, called.call)
        if onion is not None and onion.result is not None:
            shown = shown_result(onion.result)
            found.setdefault(id(called.now), {})[called.call.id] = shown
    return found


def _with_its_text(event: Observation, texts: Mapping[str, str]) -> list[str]:
    """Return the ids of the calls that gave the text of an event."""
    if "stream_error" in event.data:
        return []  # the text may be cut
    return [
        call_id
        for call_id, text in texts.items()
        if text in {text_of_tool(event), text_of_tool(event, call_id)}
    ]


def agent(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that the run path of every event ends with the agent's name."""
    for run in case.played.runs:
        for event in run.events:
            claim = "the run path ends with the agent's name"
            yield Decision(claim, run.agent.name, event.data.get("agent"), event)


def response_first(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that a response's event comes before those of the results it leads to."""
    for now in case.played.iterations:
        if now.tool_events:
            first = now.tool_events[0]
            before = [e for e in now.model_events if e.seq < first.seq]
            claim = "the response's event comes before those of its calls"
            yield Decision(claim, 1, len(before), first)


def error_event(case: PlayedWorld) -> Iterator[Decision]:
    """Decide that an error is reported once, as the last event of a failed run."""
    for run in case.played.runs:
        kinds = [_kind(each) for each in run.events]
        failed = run.status == "error"
        at = run.error or run.end
        claim = "the error that ended the run is its last event"
        yield Decision(claim, int(failed), kinds.count("error"), at)
        if failed and "error" in kinds:
            yield Decision(claim, "error", kinds[-1], run.events[-1])


def _shows(
    run: RunView, now: Iteration, response: Message, claim: str
) -> Iterator[Decision]:
    [event] = now.model_events
    got = text_of_model(event)
    expected = shown_model(response, chunks_of(run.agent, now))
    if got == shown_model(response, None):
        expected = got  # pieces of calls may be joined
    yield Decision(claim, expected, got, event)


@each_once
def _answered(view: View) -> Iterator[tuple[RunView, Iteration, Message]]:
    """Yield the iterations that have an answer, which left the model's onion."""
    for run in view.runs:
        for now in run.iterations:
            response = response_of(view, run, now)
            if response is not None and not run.left_around(now):
                yield run, now, response


def _failed(called: Called) -> bool:
    last = called.now is called.run.iterations[-1]
    return last and called.run.error is not None


def _of(now: Iteration) -> Observation | None:
    return now.model_events[0] if now.model_events else now.response


def _kind(event: Observation) -> str:
    return str(event.data.get("kind"))


CHECKS: Final = (
    Check(clause="EVT-001", decide=model_event),
    Check(clause="EVT-002", decide=model_content),
    Check(clause="EVT-003", decide=snapshot, any_of=_AFTER),
    Check(clause="EVT-004", decide=tool_event),
    Check(clause="EVT-005", decide=tool_content),
    Check(clause="EVT-006", decide=failed_call),
    Check(clause="EVT-008", decide=call_id),
    Check(clause="EVT-009", decide=agent),
    Check(clause="EVT-011", decide=response_first),
    Check(clause="EVT-012", decide=error_event),
)
