"""INT: a run that stops to ask, and what it tells (contract INT)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any, Final, TypeAlias, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks.kept_runs import (
    ResumedRun,
    address_of,
    begins_anew,
    begun,
    cuts,
    cuts_in,
    effects,
    interrupts,
    keeps,
    left_open,
    plain_calls,
    rows,
    text_of,
)
from property_tests.checks.specs import all_tools, ops_of, tool_wraps, tools_of
from property_tests.view import RunView
from refengine.messages import Json
from refengine.testing.ops import Ask, Interrupts
from refengine.testing.scenario import (
    AgentSpec,
    ModelWrapSpec,
    Scenario,
    ToolWrapSpec,
)
from refengine.testing.trace import Observation

RESUME: Final = frozenset(("resume",))
BESIDE: Final = RESUME | {"parallel_calls"}
Asker: TypeAlias = "tuple[str | None, str]"
"""Who asked: the call it was in, None for a hook, and what was asked, as JSON."""
REFUSED: Final = "the class of the error that ends it, and what it did before"


def raised_again(case: PlayedWorld) -> Iterator[Decision]:
    """Ask whether an interrupt that a wrapper catches ends the run all the same."""
    expected = case.profile.swallowed_interrupt == "raised_again"
    for run in case.played.runs:
        tools = [*all_tools(run.agent)]
        others = {tool.name for tool in tools if tool.interrupt is None}
        askers = {tool.name for tool in tools} - others
        first = next(
            (
                each
                for each in run.entries
                if each.kind == "tool_start" and each.data["name"] in askers
            ),
            None,
        )
        caught = any(each.catch_error is not None for each in tool_wraps(run.agent))
        if run.spec.resume is None and first is not None and caught:
            claim = "an interrupt of a tool that a wrapper around it catches ends a run"
            got = run.status == "interrupted"
            yield Decision(claim, expected, got, run.end or first)


def siblings(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that calls beside one that asks end, and the model gets what they gave."""
    for cut in cuts(case.played):
        if cut.before.agent.sequential or not cut.in_tools:
            continue
        askers = {each.call_id for each in cut.questions}
        # Which results a wrapper changes is asked by other clauses.
        for start in _starts(cut.before):
            if start.call_id in askers:
                continue
            ended = [e for e in _ends(cut.before) if e.call_id == start.call_id]
            claim = "a call beside one that asks has ended before the run is over"
            yield Decision(claim, 1, len(ended), start)
            for end in ended:
                sent = _results(cut.after).get(str(start.call_id))
                if end.kind == "tool_end" and sent is not None:
                    claim = "what a call beside one that asks gave reaches the model"
                    text = str(end.data["result"])
                    yield Decision(claim, text, _part(sent, text), end)


def own_addresses(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that each interrupt has an address of its own, by call where a call asks."""
    for run in case.played.runs:
        questions = interrupts(run)
        if not questions:
            continue
        texts = [text_of(each) for each in questions]
        yield Decision(
            "addresses that no other interrupt of the run has",
            len(texts),
            len({*texts}),
            questions[-1],
        )
        open_calls = {e.call_id for e in left_open(run) if e.call_id is not None}
        if open_calls:
            yield Decision(
                "calls that were left open, and those whose interrupts are told",
                sorted(open_calls),
                sorted({str(address_of(each).get("call_id")) for each in questions}),
                questions[-1],
            )


def used_once(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that an address which was answered is not reported again."""
    for row in rows(case.played):
        answered_before: set[str] = set()
        for cut in cuts_in(row):
            answered_before |= {text_of(e) for e in cut.questions if cut.goes_on(e)}
            questions = interrupts(cut.after)
            again = [e for e in questions if text_of(e) in answered_before]
            if questions:
                what = "questions with the address of one that was answered"
                yield Decision(what, 0, len(again), (again or questions)[0])


def reported(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that an interrupted run ends with an event of it, and not with an error.

    What is asked is read from that event: without one it is the status that tells.
    """
    for run in case.played.runs:
        questions = interrupts(run)
        if questions or run.status == "interrupted":
            events = [each for each in run.events if _kind(each) != "tool"]
            payloads = [each.data.get("payload") for each in questions]
            yield Decision(
                "what its last event asks",
                ["interrupt", payloads],
                [_kind(events[-1]), events[-1].data.get("payloads", [])]
                if events
                else [],
                events[-1] if events else run.end,
            )
            kinds = [_kind(e) for e in events if _kind(e) in {"interrupt", "error"}]
            yield Decision(
                "events of a run that was interrupted, of ends", ["interrupt"], kinds
            )


def answered(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that whoever asked is given the answer to just that, however often.

    Who asks alike is told apart by the call. One who asks again in the same call, or
    hook, is given what he was answered before, and then the new answer.
    """
    for row in rows(case.played):
        given: dict[Asker, list[Json]] = {}
        payloads = _payloads(row[0].agent)
        for cut in cuts_in(row):
            if begins_anew(cut, case.profile):
                break
            now = _answered_now(cut, payloads)
            for asker, answers in now.items():
                given.setdefault(asker, []).extend(answers)
            got = _answers_had(cut.after, payloads)
            for asker in now:
                what = f"whether what asked {_named(asker)} was given an answer"
                end = cut.after.end
                yield Decision(what, expected=True, got=asker in got, at=end)
            for asker, had in got.items():
                if len(now.get(asker, ())) > 1:
                    continue  # equal ids: which of them is whose nothing tells
                last = given.get(asker, [])[-len(had) :]
                for answer, (at, each) in zip(last, had, strict=False):
                    yield Decision(f"the answer to {_named(asker)}", answer, each, at)


def _answered_now(
    cut: ResumedRun, payloads: AbstractSet[str]
) -> Mapping[Asker, list[Json]]:
    """Return what a run is resumed with, by who asked where that is recorded."""
    found: dict[Asker, list[Json]] = {}
    for each in cut.questions:
        payload = _json(each.data["payload"])
        if cut.goes_on(each) and payload in payloads:
            answer = None if cut.answers is None else cut.answers[text_of(each)]
            found.setdefault((each.call_id, payload), []).append(answer)
    return found


def _answers_had(
    run: RunView, payloads: AbstractSet[str]
) -> Mapping[Asker, list[tuple[Observation, Json]]]:
    """Return the answers that each who asked was given in a run, in order."""
    found: dict[Asker, list[tuple[Observation, Json]]] = {}
    for at, entry in effects(run):
        if "asked" in entry and _json(entry["asked"]) in payloads:
            asker = at.call_id, _json(entry["asked"])
            found.setdefault(asker, []).append((at, entry["answer"]))
    return found


def _json(payload: object) -> str:
    return json.dumps(payload, sort_keys=True, ensure_ascii=False)


def _named(asker: Asker) -> str:
    call, payload = asker
    return payload if call is None else f"{payload} in call {call!r}"


def partly(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that what is not answered waits further, and is not entered."""
    for cut in cuts(case.played):
        waiting = [each for each in cut.questions if not cut.goes_on(each)]
        if not waiting or not cut.in_tools:
            continue
        texts = [text_of(each) for each in waiting]
        still = [text_of(each) for each in interrupts(cut.after)]
        claim = "interrupts that were not answered and wait further"
        yield Decision(claim, texts, [e for e in texts if e in still], cut.after.end)
        ids = {each.call_id for each in waiting} - cut.calls
        entered = [each for each in begun(cut.after) if each.call_id in ids]
        claim = "calls that wait further are not entered"
        yield Decision(claim, 0, len(entered), (entered or cut.after.entries)[-1])


def unknown_refused(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that an answer to what nobody asks is refused before anything is done."""
    for row in rows(case.played):
        for before, after in pairwise(row):
            answers = after.spec.answers
            waiting = [text_of(each) for each in interrupts(before)]
            unknown = answers != "all" and not all(
                each == "*" or any(text.endswith(each) for text in waiting)
                for each in answers
            )
            if waiting and unknown:
                yield _refusal("UnknownInterruptError", after)


def ended_refused(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a run which has come to its end is not resumed."""
    ends = {"completed", "returned_directly", "max_iterations"}
    for row in rows(case.played):
        for before, after in pairwise(row):
            if before.status in ends:
                yield _refusal("NotResumableError", after)


def changed_refused(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a run is not resumed by an agent of another name."""
    for row in rows(case.played):
        for before, after in pairwise(row):
            if interrupts(before) and before.agent.name != after.agent.name:
                yield _refusal("ChangedAgentError", after)


def _refusal(error: str, run: RunView) -> Decision:
    # An agent that is built anew for it may run hooks of its building.
    built = {id(each.enter) for each in run.before_agent if run.spec.rebuild}
    done = [str(each.kind) for each in begun(run) if id(each) not in built]
    nothing: list[str] = []
    return Decision(
        REFUSED, [error, nothing], [run.failed_as, done], run.error or run.end
    )


def _payloads(agent: AgentSpec) -> set[str]:
    """Return what an agent asks where the answer is recorded, and nowhere else."""
    wraps: list[ModelWrapSpec | ToolWrapSpec] = [*tool_wraps(agent)]
    wraps += [each.wrap_model for each in agent.handlers if each.wrap_model is not None]
    ops = [*ops_of(agent)]
    asked = [op.payload for op in ops if isinstance(op, Ask)]
    asked += [each.ask.payload for each in wraps if each.ask is not None]
    raised = [op.info for op in ops if isinstance(op, Interrupts)]
    raised += [each.interrupt.info for each in wraps if each.interrupt is not None]
    raised += [each.interrupt.info for each in all_tools(agent) if each.interrupt]
    return {*map(_json, asked)} - {*map(_json, raised)}


def _catches(scenario: Scenario) -> bool:
    caught = any(
        wrap.catch_error is not None
        for agent in scenario.all_agents
        for wrap in tool_wraps(agent)
    )
    return caught and any(tool.interrupt for tool in tools_of(scenario))


def _starts(run: RunView) -> list[Observation]:
    return [each for each in run.entries if each.kind == "tool_start"]


def _ends(run: RunView) -> list[Observation]:
    return [each for each in run.entries if each.kind in {"tool_end", "tool_error"}]


def _results(run: RunView) -> Mapping[str, str]:
    """Return the results that the first request of a run holds, by call id."""
    first = next((e for e in run.entries if e.kind == "model_request"), None)
    messages = () if first is None else cast("Any", first.data["messages"])
    return {m.tool_call_id: m.content for m in messages if m.role == "tool"}


def _part(text: str, expected: str) -> str:
    return expected if expected in text else text


def _kind(event: Observation) -> str:
    return str(event.data.get("kind"))


CHECKS: Final = (
    Check(clause="INT-001", decide=raised_again, needs=RESUME, meant=_catches),
    Check(clause="INT-006", decide=siblings, needs=BESIDE, meant=plain_calls),
    Check(clause="INT-007", decide=own_addresses, needs=RESUME, meant=plain_calls),
    Check(clause="INT-008", decide=reported, needs=RESUME, meant=keeps),
    Check(clause="INT-009", decide=answered, needs=RESUME, meant=keeps),
    Check(clause="INT-010", decide=partly, needs=BESIDE, meant=keeps),
    Check(clause="INT-013", decide=unknown_refused, needs=RESUME, meant=keeps),
    Check(clause="INT-014", decide=ended_refused, needs=RESUME, meant=keeps),
    Check(clause="INT-015", decide=changed_refused, needs=RESUME, meant=keeps),
    Check(clause="INT-017", decide=used_once, needs=RESUME, meant=keeps),
)
