"""CONC: calls of one message side by side, and runs that share nothing (§2 CONC)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final, cast

from property_tests.check import Check, Decision, PlayedWorld
from property_tests.checks import executing
from property_tests.checks.comparing import (
    again,
    built_twice,
    earlier_runs,
)
from property_tests.checks.message_calls import (
    BegunCalls,
    after_start,
    at_work,
    batches,
    began,
    factories_fail,
    failed,
    is_invoked,
    opened,
    sound,
)
from property_tests.checks.specs import tools_of
from property_tests.variants import AGAIN, BUILT_TWICE, RUN_TWICE
from refengine.messages import Message
from refengine.testing.ops import Fail
from refengine.testing.scenario import Scenario
from refengine.testing.trace import Observation
from refengine.tools import ToolInfo


def concurrent(case: PlayedWorld) -> Iterator[Decision]:
    """No call that takes its time ends before all others have begun."""
    slow = _slow(case.scenario)
    for batch in _several(case):
        woken = [
            after
            for call in batch.calls
            for start in call.starts
            if start.data["name"] in slow
            and (after := after_start(call, start)) is not None
        ]
        if woken and not batch.run.agent.sequential:
            first = min(woken, key=lambda each: each.seq)
            yield Decision(
                "calls that were begun before the first one that takes time went on",
                [call.id for call in batch.calls],
                [call.id for call in batch.calls if began(call) < first.seq],
                first,
            )


def every_call_runs(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that a message's calls all begin, also those behind one that failed."""
    if not _finish(case):
        return
    for batch in _batches(case):
        # Which calls are left to run after edits of the history is a posture.
        left = batch.run.left_in(batch.now)
        if batch.now.request is None or batch.now.after or left:
            continue
        infos = cast("list[ToolInfo]", batch.now.request.data["tools"])
        shown = {info.name for info in infos}
        message = batch.now.message or Message("assistant")
        expected = [call.id for call in message.tool_calls if call.name in shown]
        if len(expected) > 1:
            begun = [call.id for call in batch.calls if call.id in expected]
            at = batch.calls[0].entries[0]
            yield Decision("calls of the message that were begun", expected, begun, at)


def every_call_ends(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that executions come to their own end, whatever becomes of siblings."""
    if not _finish(case) or _bodies_fail(case.scenario):
        return
    for batch in _several(case):
        for call in () if batch.run.left_in(batch.now) else batch.calls:
            # A wrapper may put a stream away unread: then it has no end to be seen.
            if call.starts and (is_invoked(call) or not call.hooks):
                ended = len(call.ends) + len(call.errors)
                claim = "executions of a call's tool that came to an end of their own"
                yield Decision(claim, len(call.starts), ended, call.starts[-1])


def events_in_order(case: PlayedWorld) -> Iterator[Decision]:
    """Events of results come in the order of the calls, whoever was first.

    That of the result which ends the run may come last (posture ``direct_event``).
    """
    if case.profile.tool_events != "call_order":
        return
    for batch in executing.batches(case.played):
        reported = batch.now.tool_events
        got = [each.call_id for each in reported]
        expected = [call.id for call in batch.calls if call.id in got]
        ending = _ending(batch)
        if case.profile.direct_event == "last" and ending in expected:
            expected = [*(each for each in expected if each != ending), ending]
        if len(got) > 1:
            claim = "events of tool results, in call order"
            yield Decision(claim, expected, got, reported[-1])


def events_before_error(case: PlayedWorld) -> Iterator[Decision]:
    """Those calls that came out of their onions are reported before the error is."""
    if case.profile.direct_event == "last" and _ends_directly(case.scenario):
        return  # the event of a direct call is held back and then not told at all
    for batch, error in _failing(case):
        reported = {
            each.call_id for each in batch.now.tool_events if each.seq < error.seq
        }
        clear = [call for call in batch.calls if sound(call) or not opened(call)]
        yield Decision(
            "calls whose results are told before the error of a sibling",
            [call.id for call in clear if sound(call)],
            [call.id for call in clear if call.id in reported],
            error,
        )


def first_failing(case: PlayedWorld) -> Iterator[Decision]:
    """Ask that the run ends with the error of the first call that failed.

    Where all results are opened before a stream is read (posture
    ``sequential_streams``), what cannot be opened fails before any stream does.
    """
    at_first = case.profile.sequential_streams == "opened"
    for batch, error in _failing(case):
        named = cast("dict[str, object]", error.data["error"]).get("call")
        broken = [call.id for call in batch.calls if failed(call)]
        if at_first and batch.run.spec.streaming:
            unopened = [call.id for call in batch.calls if not opened(call)]
            broken = unopened or broken
        if named is not None and broken:
            claim = "the error that ends the run is of the first call that failed"
            yield Decision(claim, broken[0], named, error)


def one_by_one(case: PlayedWorld) -> Iterator[Decision]:
    """Sequential calls are made one after the other, in call order.

    Streams may all be opened before one is read (posture ``sequential_streams``): then
    it is their beginnings that stand one after the other.
    """
    opened = case.profile.sequential_streams == "opened"
    for batch in _several(case):
        if batch.run.agent.sequential:
            seen = at_work(batch.calls)
            if opened and batch.run.spec.streaming:
                seen = [each for each in seen if each.kind in _BEGINNINGS]
            got = [call_id for call_id, _ in groupby(each.call_id for each in seen)]
            expected = [call.id for call in batch.calls]
            claim = "sequential calls: all of one, then all of the next"
            yield Decision(claim, expected, got, seen[0])


def _batches(case: PlayedWorld) -> Iterator[BegunCalls]:
    """Yield the calls of each message in worlds where all of them leave a sign."""
    if not any(factories_fail(agent) for agent in case.scenario.all_agents):
        yield from batches(case.played)


def _ending(batch: executing.CalledBatch) -> str | None:
    """Return the call whose result ended the run: its message is the answer."""
    direct = batch.run.status == "returned_directly"
    last = batch.now is batch.run.iterations[-1]
    answer = batch.run.answer
    return answer.tool_call_id if answer is not None and direct and last else None


def _several(case: PlayedWorld) -> Iterator[BegunCalls]:
    return (each for each in _batches(case) if len(each.calls) > 1)


def _failing(case: PlayedWorld) -> Iterator[tuple[BegunCalls, Observation]]:
    """Yield the calls after which a run ended with an error, because one failed."""
    if not _finish(case):
        return
    for batch in _several(case):
        error = batch.run.error
        last = batch.now is batch.run.iterations[-1]
        if error is not None and last and any(map(failed, batch.calls)):
            yield batch, error


def _finish(case: PlayedWorld) -> bool:
    """Tell whether siblings of a failing call are to finish, under this profile."""
    return case.profile.failing_call == "siblings_finish"


def _slow(scenario: Scenario) -> frozenset[str]:
    """Return the names of tools that take time, whichever of equal names runs."""
    found = list(tools_of(scenario))
    quick = {tool.name for tool in found if not tool.delay_ms}
    return frozenset(tool.name for tool in found) - quick


def _bodies_fail(scenario: Scenario) -> bool:
    """Tell whether a tool may raise without saying so."""
    return any(isinstance(op, Fail) for tool in tools_of(scenario) for op in tool.body)


def _ends_directly(scenario: Scenario) -> bool:
    """Tell whether a call may end a run with its result."""
    return any(agent.return_directly for agent in scenario.all_agents) or any(
        "return_directly" in op.op
        for agent in scenario.all_agents
        for handler in agent.handlers
        for op in handler.before_agent or ()
    )


def _calls_tools(scenario: Scenario) -> bool:
    return any(True for _ in tools_of(scenario))


_BEGINNINGS: Final = frozenset(("hook_enter", "tool_start"))

_NEEDS: Final = frozenset(("parallel_calls",))

CHECKS: Final = (
    Check(
        clause="CONC-001",
        decide=concurrent,
        needs=_NEEDS | {"concurrent_calls"},
        meant=_calls_tools,
    ),
    Check(clause="CONC-002", decide=every_call_runs, needs=_NEEDS, meant=_calls_tools),
    Check(clause="CONC-003", decide=every_call_ends, needs=_NEEDS, meant=_calls_tools),
    Check(clause="CONC-004", decide=events_in_order, needs=_NEEDS, meant=_calls_tools),
    Check(
        clause="CONC-005", decide=events_before_error, needs=_NEEDS, meant=_calls_tools
    ),
    Check(clause="CONC-006", decide=first_failing, needs=_NEEDS, meant=_calls_tools),
    Check(
        clause="CONC-007",
        decide=one_by_one,
        needs=_NEEDS | {"sequential"},
        meant=_calls_tools,
    ),
    Check(clause="CONC-008", decide=earlier_runs, variants=(RUN_TWICE,)),
    Check(clause="CONC-009", decide=again, variants=(AGAIN,)),
    Check(clause="CONC-010", decide=built_twice, variants=(BUILT_TWICE,)),
)
