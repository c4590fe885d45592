"""Checks of what breaks off: tools, streams, callbacks, limits, cancellation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.stream_loop.view import LoopRound, LoopRun, LoopView, StreamedCall

Decisions = Iterator[DialectDecision]

STATUS: Final = frozenset(("status",))
ERRORS: Final = frozenset(("errors",))
LIMITS: Final = frozenset(("limits",))
TELLING_ENDS: Final = frozenset(("on_end", "on_error"))


def _usual(seen: LoopView) -> Iterator[LoopRun]:
    """Yield the runs that no callback broke off."""
    for run in seen.runs:
        if not (run.raised and seen.profile.raising_callback == "aborts"):
            yield run


def _failing(seen: LoopView, run: LoopRun, each: LoopRound) -> list[StreamedCall]:
    """Return the calls of a round that no result can come of: tools that fail."""
    names = {x.name for x in seen.scenario.tools}
    found: list[StreamedCall] = []
    for call, ran in zip(each.calls, each.executions, strict=True):
        odd = ran is not None and type(ran.gave) is int
        failed = ran is not None and (ran.error is not None or odd)
        if call.name not in names or failed:
            found.append(call)
    del run
    return found


def tool_fails(seen: LoopView) -> Decisions:
    """LOOP-030: a tool that fails gives a result that says so, or ends the run."""
    aborts = seen.profile.tool_failure == "aborts"
    for run in _usual(seen):
        for each in run.rounds:
            errors = [x.error for x in each.runs if x.error is not None]
            if not errors or run.cancelled or seen.scenario.limits.round_seconds:
                continue
            place = each.entries[-1].place
            if aborts:
                came = run.error is not None
                claim = "the failure of a tool comes out"
                yield DialectDecision(claim, [True], [came], run.end.place)
            elif _over(run, each) and seen.hears("on_tool_result"):
                told = [x["text"] for x in each.results if "error" in x]
                got = [any(text in one for one in told) for text in errors]
                claim = f"results of round {each.number} that say what failed"
                yield DialectDecision(claim, [True] * len(errors), got, place)


def _over(run: LoopRun, each: LoopRound) -> bool:
    """Tell whether a round came to its end, or an error ended it."""
    return each.finished or run.error is not None


def no_result(seen: LoopView) -> Decisions:
    """LOOP-031: so does a call of no tool, and a tool that gives no result."""
    aborts = seen.profile.tool_failure == "aborts"
    for run in _usual(seen):
        for each in run.rounds:
            if not each.streamed or run.cancelled or run.broke is not None:
                continue
            odd = [x for x in _failing(seen, run, each) if not _raised(each, x)]
            timed = seen.scenario.limits.round_seconds
            if not odd or timed or not (_over(run, each) or aborts):
                continue
            if aborts:
                claim = "it comes out"
                got = [run.error is not None]
                yield DialectDecision(claim, [True], got, run.end.place)
            elif seen.hears("on_tool_result"):
                names = [x["name"] for x in each.results if "error" in x]
                got = [x.name in names for x in odd]
                claim = f"calls of round {each.number} whose result is an error"
                place = each.entries[-1].place
                yield DialectDecision(claim, [True] * len(odd), got, place)


def _raised(each: LoopRound, call: StreamedCall) -> bool:
    ran = each.executions[list(each.calls).index(call)]
    return ran is not None and ran.error is not None


def from_inside(seen: LoopView) -> Decisions:
    """LOOP-032: a tool that is cancelled from inside fails, and cancels no run."""
    inside = {x.name for x in seen.scenario.tools if x.outcomes[0].fault == "cancelled"}
    for run in _usual(seen):
        if run.spec.cancel_after is not None:
            continue
        for each in run.rounds:
            if any(x.start.data["tool"] in inside for x in each.runs):
                claim = "the run is not cancelled"
                got = [run.cancelled]
                yield DialectDecision(claim, [False], got, run.end.place)


def stream_breaks(seen: LoopView) -> Decisions:
    """LOOP-033: what a stream breaks with comes out of the run."""
    for run in _usual(seen):
        if run.broke is not None and not run.cancelled:
            text = str(run.broke.data["error"])
            came = run.error is not None and text in run.error
            claim = "it comes out"
            yield DialectDecision(claim, [True], [came], run.end.place)


def told_of_end(seen: LoopView) -> Decisions:
    """LOOP-034: what ends a run is told to on_error once, and to on_end as error."""
    if not seen.hears("on_error", "on_end"):
        return
    for run in _usual(seen):
        if run.broke is None or run.cancelled or run.raised:
            continue
        rounds = [x for x in run.told("on_error") if x.fact[1] == "round"]
        claim = "how often on_error is told of it"
        yield DialectDecision(claim, 1, len(rounds), run.end.place)
        ends = [x.fact["status"] for x in run.told("on_end")]
        yield DialectDecision("its status", ["error"], ends, run.end.place)


def end_once(seen: LoopView) -> Decisions:
    """LOOP-035: on_end is told once and last, of what comes back."""
    if not seen.hears("on_end"):
        return
    for run in _usual(seen):
        if not run.rounds or (run.cancelled and run.raised):
            continue
        told = run.told("on_end")
        claim = "how often on_end is told"
        yield DialectDecision(claim, 1, len(told), run.end.place)
        others = [x.callback for x in run.entries if x.callback]
        behind = others[others.index("on_end") + 1 :] if "on_end" in others else []
        got = [x for x in behind if x != "on_error"]
        yield DialectDecision("what is told behind it", [], got, run.end.place)
        if run.result is not None and told:
            place = told[0].place
            yield DialectDecision("the result", told[0].fact, run.result, place)


def round_time(seen: LoopView) -> Decisions:
    """LOOP-036: a round takes no longer than it may, and then says so by its status."""
    most = seen.scenario.limits.round_seconds
    if most is None or any(x.seconds for x in seen.scenario.callbacks.values()):
        return
    for run in _usual(seen):
        for each in run.rounds:
            got = [
                x for x in each.of("model_chunk", "tool_end") if _late(each, x.at, most)
            ]
            claim = f"what happens in round {each.number} behind its time"
            yield DialectDecision(claim, 0, len(got), each.entries[-1].place)
            cut = each.last and _late(each, run.end.at, most - 1e-6)
            if cut and not run.cancelled and run.broke is None:
                status = None if run.result is None else run.result.get("status")
                claim = "its status"
                yield DialectDecision(claim, "timed_out", status, run.end.place)


def _late(each: LoopRound, at: float, most: float) -> bool:
    return at - each.request.at > most


def tool_time(seen: LoopView) -> Decisions:
    """LOOP-037: a tool takes no longer than it may."""
    most = seen.scenario.limits.tool_seconds
    if most is None:
        return
    for run in _usual(seen):
        for each in run.rounds:
            for ran in each.runs:
                took = (ran.end or run.end).at - ran.start.at
                claim = f"{ran.start.data['tool']} ends in its time"
                got = took <= most + 1e-6
                yield DialectDecision(claim, [True], [got], ran.start.place)
            late = [x for x in each.runs if x.cancelled]
            safe = seen.profile.tool_failure == "result"
            if safe and late and each.finished and seen.hears("on_tool_result"):
                got_errors = sum("error" in x for x in each.results) >= len(late)
                claim = f"late tools of round {each.number} whose result is an error"
                place = each.entries[-1].place
                yield DialectDecision(claim, [True], [got_errors], place)


def too_much(seen: LoopView) -> Decisions:
    """LOOP-038: a call beyond the limits of a round is not executed."""
    limits = seen.scenario.limits
    if limits.calls_per_round is None and limits.argument_chars is None:
        return
    for run in _usual(seen):
        for each in run.rounds:
            allowed = [
                [call.name, call.arguments]
                for at, call in enumerate(each.calls)
                if at < (limits.calls_per_round or at + 1)
                and len(call.arguments) <= (limits.argument_chars or 10**9)
            ]
            got = [[x.start.data["tool"], x.start.data["arguments"]] for x in each.runs]
            over = len(got)
            for one in allowed:
                over -= one in got
            claim = f"calls of round {each.number} that are executed all the same"
            place = each.entries[-1].place
            yield DialectDecision(claim, 0, max(0, over), place)


def result_length(seen: LoopView) -> Decisions:
    """LOOP-039: a result beyond its limit is an error, and asks for nothing."""
    most = seen.scenario.limits.result_chars
    if most is None or not seen.hears("on_tool_result"):
        return
    for run in _usual(seen):
        for each in run.rounds:
            if not each.finished:
                continue
            long = [
                x for x in each.results if "error" not in x and len(x["text"]) > most
            ]
            claim = f"results of round {each.number} that are too long"
            yield DialectDecision(claim, 0, len(long), each.entries[-1].place)


def cancelled(seen: LoopView) -> Decisions:
    """LOOP-040: a cancellation comes out, on_end is told, and tools are stopped."""
    for run in _usual(seen):
        after = run.spec.cancel_after
        start = run.entries[0].at
        ends = run.told("on_end")
        before_end = not ends or ends[-1].at - start >= after if after else False
        if after is None or run.end.at - start < after or run.raised or not before_end:
            continue
        if seen.scenario.callbacks:
            continue  # one that waits may be what is cancelled
        yield DialectDecision("it comes out", [True], [run.cancelled], run.end.place)
        if seen.hears("on_end"):
            got = [x.fact["status"] for x in ends]
            yield DialectDecision("its status", ["cancelled"], got, run.end.place)
        left = [x for each in run.rounds for x in each.runs if x.end is None]
        yield DialectDecision("tools that still run", 0, len(left), run.end.place)


def callback_raises(seen: LoopView) -> Decisions:
    """LOOP-041: a callback that raises is told and ends nothing, or it comes out."""
    isolated = seen.profile.raising_callback == "isolated"
    for run in seen.runs:
        raised = [x for x in run.raised if x.callback not in TELLING_ENDS]
        if not raised or run.cancelled:
            continue
        if not isolated:
            texts = [x.data["raises"] for x in run.raised]
            came = run.error in texts or run.broke is not None
            yield DialectDecision("it comes out", [True], [came], run.end.place)
        elif seen.hears("on_error"):
            told = [x.fact[1] for x in run.told("on_error")]
            expected = [x.callback for x in raised]
            got = [x for x in told if x in expected]
            claim = "the callbacks that on_error is told of"
            yield DialectDecision(claim, expected, got, run.end.place)


def error_raises(seen: LoopView) -> Decisions:
    """LOOP-042: an error of on_error itself becomes a warning."""
    for run in seen.runs:
        raised = [x for x in run.raised if x.callback == "on_error"]
        if raised and not run.cancelled:
            texts = " ".join(str(x.data["text"]) for x in run.warnings)
            got = [x.data["raises"] in texts for x in raised]
            claim = "it is in a warning"
            yield DialectDecision(claim, [True] * len(raised), got, run.end.place)


def logged_rounds(seen: LoopView) -> Decisions:
    """LOOP-043: each round's start and end are logged, and how the run ended."""
    for run in _usual(seen):
        if not run.rounds or not run.ended_well:
            continue
        rows = [x.log for x in run.entries if x.log]
        rounds = [x for x in rows if str(x.get("event", "")).startswith("round_")]
        got = [[x["event"], x.get("round")] for x in rounds]
        expected = [
            [event, each.number]
            for each in run.rounds
            for event in ("round_started", "round_ended")
        ]
        yield DialectDecision("the records of rounds", expected, got, run.end.place)
        ends = [x.get("status") for x in rows if x.get("event") == "loop_ended"]
        status = (run.result or {}).get("status")
        claim = "the record of the end"
        yield DialectDecision(claim, [status], ends, run.end.place)


def logged_calls(seen: LoopView) -> Decisions:
    """LOOP-044: each call's start and end are logged, with round, id and duration."""
    for run in _usual(seen):
        for each in run.rounds:
            if not each.finished or not seen.hears("on_tool_result"):
                continue
            ids = sorted(str(x["call_id"]) for x in each.results)
            for event in ("call_started", "call_ended"):
                rows = [x.log for x in each.entries if x.log.get("event") == event]
                got = sorted(
                    str(x.get("call_id")) for x in rows if x.get("round") == each.number
                )
                claim = f"the records {event} of round {each.number}"
                yield DialectDecision(claim, ids, got, each.entries[-1].place)
                if event == "call_ended" and rows:
                    untimed = [x for x in rows if "seconds" not in x]
                    claim = "records without a duration"
                    place = each.entries[-1].place
                    yield DialectDecision(claim, 0, len(untimed), place)


RESULTS: Final = {"tool_failure": ("result",)}
ISOLATED: Final = {"raising_callback": ("isolated",)}

CHECKS: Final = (
    DialectCheck(clause="LOOP-030", decide=tool_fails),
    DialectCheck(clause="LOOP-031", decide=no_result),
    DialectCheck(clause="LOOP-032", decide=from_inside),
    DialectCheck(clause="LOOP-033", decide=stream_breaks),
    DialectCheck(clause="LOOP-034", decide=told_of_end, needs=STATUS | ERRORS),
    DialectCheck(clause="LOOP-035", decide=end_once, needs=STATUS),
    DialectCheck(clause="LOOP-036", decide=round_time, needs=LIMITS | STATUS),
    DialectCheck(clause="LOOP-037", decide=tool_time, needs=LIMITS),
    DialectCheck(clause="LOOP-038", decide=too_much, needs=LIMITS),
    DialectCheck(clause="LOOP-039", decide=result_length, needs=LIMITS, under=RESULTS),
    DialectCheck(
        clause="LOOP-040",
        decide=cancelled,
        needs=STATUS | frozenset(("cancellation",)),
    ),
    DialectCheck(clause="LOOP-041", decide=callback_raises, needs=ERRORS),
    DialectCheck(clause="LOOP-042", decide=error_raises, needs=ERRORS, under=ISOLATED),
    DialectCheck(
        clause="LOOP-043",
        decide=logged_rounds,
        needs=STATUS | frozenset(("logs",)),
    ),
    DialectCheck(clause="LOOP-044", decide=logged_calls, needs=frozenset(("logs",))),
)
"""Clauses about what breaks off."""
