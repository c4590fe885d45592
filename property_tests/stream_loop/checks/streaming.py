"""Checks of one round: its chunks, its calls, its tools, and what is told of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from property_tests.dialects.decision import DialectDecision
from property_tests.dialects.dialect import DialectCheck
from property_tests.stream_loop.view import LoopRound, LoopRun, LoopView

Decisions = Iterator[DialectDecision]

LIMITS: Final = ("calls_per_round", "argument_chars", "tool_seconds", "round_seconds")


def _usual(seen: LoopView, *callbacks: str) -> Iterator[tuple[LoopRun, LoopRound]]:
    """Yield the rounds of runs that no callback broke off, if somebody listens."""
    if not seen.hears(*callbacks):
        return
    for run, each in seen.rounds:
        if not (run.raised and seen.profile.raising_callback == "aborts"):
            yield run, each


def _whole(seen: LoopView, *callbacks: str) -> Iterator[tuple[LoopRun, LoopRound]]:
    yield from (row for row in _usual(seen, *callbacks) if row[1].finished)


def chunks(seen: LoopView) -> Decisions:
    """LOOP-020: each piece of text is told as it came, before the next is read."""
    for _, each in _usual(seen, "on_chunk"):
        found = [
            x
            for x in each.entries
            if x.kind == "model_chunk" or x.callback == "on_chunk"
        ]
        expected: list[str] = []
        for one in found:
            if one.kind == "model_chunk" and one.data.get("text"):
                expected += [f"read {one.data['text']}", f"told {one.data['text']}"]
        got = [
            f"told {x.fact}" if x.callback else f"read {x.data['text']}"
            for x in found
            if x.callback or x.data.get("text")
        ]
        if expected:
            claim = f"the text of round {each.number}"
            yield DialectDecision(claim, expected, got, each.entries[-1].place)


def calls(seen: LoopView) -> Decisions:
    """LOOP-021: each call is told once, with all of its arguments."""
    for _, each in _whole(seen, "on_tool_call"):
        expected = [call.named for call in each.calls]
        told = [x.fact for x in each.told("on_tool_call")]
        got = [_like(call.id, x) for call, x in zip(each.calls, told, strict=False)]
        got += told[len(got) :]
        if each.calls or told:
            by_name = _sorted(expected) if _mixed(each) else expected
            got = _sorted(_unnamed(each, told)) if _mixed(each) else got
            claim = f"the calls of round {each.number}"
            yield DialectDecision(claim, by_name, got, each.entries[-1].place)


def _mixed(each: LoopRound) -> bool:
    """Tell whether whole calls stand among those in pieces, which are told later."""
    return len({call.whole for call in each.calls}) > 1


def _unnamed(each: LoopRound, told: list[Any]) -> list[Any]:
    known = {call.id for call in each.calls if call.id}
    return [_like(x["id"] if x["id"] in known else "", x) for x in told]


def _like(known: str, told: Any) -> dict[str, str]:  # noqa: ANN401  # a value of JSON
    """Return a call as it was told, without an id that the model did not give."""
    found = {"name": told["name"], "arguments": told["arguments"]}
    return {**found, "id": told["id"]} if known else found


def _sorted(rows: Any) -> list[Any]:  # noqa: ANN401  # values of JSON
    return sorted(rows, key=str)


def calls_in_time(seen: LoopView) -> Decisions:
    """LOOP-022: a call is told when it is complete, and not before."""
    for _, each in _whole(seen, "on_tool_call"):
        told = each.told("on_tool_call")
        if len(told) != len(each.calls) or _mixed(each) or not told:
            continue
        last = each.chunks[-1].place
        for call, one in zip(each.calls, told, strict=True):
            after = call.last if call.whole else last
            claim = f"the call of {call.name} is told when it is complete"
            following = [x.place for x in each.chunks if x.place > after]
            in_time = one.place > after and (not following or one.place < following[0])
            yield DialectDecision(claim, [True], [in_time], one.place)


def tools_after_stream(seen: LoopView) -> Decisions:
    """LOOP-023: tools start when the stream has ended."""
    for _, each in seen.rounds:
        ended = each.of("model_response")
        for one in each.of("tool_start"):
            late = bool(ended) and one.place > ended[0].place
            claim = f"{one.data['tool']} starts behind the stream"
            yield DialectDecision(claim, [True], [late], one.place)


def concurrent(seen: LoopView) -> Decisions:
    """LOOP-024: the tools of a round run at the same time."""
    for _, each in _whole(seen):
        seconds = {
            x.name: min(y.seconds for y in x.outcomes) for x in seen.scenario.tools
        }
        runs = each.runs
        waiting = all(seconds.get(x.start.data["tool"], 0) for x in runs)
        if len(runs) < 2 or not waiting:  # more than one
            continue
        ends = [x.end.place for x in runs if x.end is not None]
        early = [x for x in runs if ends and x.start.place > min(ends)]
        claim = f"tools of round {each.number} that start behind the end of one"
        yield DialectDecision(claim, 0, len(early), runs[-1].start.place)


def executed(seen: LoopView) -> Decisions:
    """LOOP-025: each call is executed once, with its own arguments."""
    limits = seen.scenario.limits
    if any(getattr(limits, each) is not None for each in LIMITS):
        return
    names = {each.name for each in seen.scenario.tools}
    for _, each in _whole(seen):
        known = [call for call in each.calls if call.name in names]
        expected = [[call.name, call.arguments] for call in known]
        got = [[x.start.data["tool"], x.start.data["arguments"]] for x in each.runs]
        if expected or got:
            claim = f"what round {each.number} executes"
            place = each.entries[-1].place
            yield DialectDecision(claim, _sorted(expected), _sorted(got), place)


def results_in_order(seen: LoopView) -> Decisions:
    """LOOP-026: results are told in the order of the calls, one for each."""
    for _, each in _whole(seen, "on_tool_result"):
        if each.calls or each.results:
            expected = [[call.name, call.id] for call in each.calls]
            got = [[x["name"], x["call_id"]] for x in each.results]
            pairs = zip(each.calls, got, strict=False)
            made = [row if call.id else [row[0], ""] for call, row in pairs]
            got = [*made, *got[len(made) :]]
            claim = f"the results of round {each.number}"
            yield DialectDecision(claim, expected, got, each.entries[-1].place)


def texts_of_results(seen: LoopView) -> Decisions:
    """LOOP-027: a result is told as what its tool gave, a text as it is."""
    for _, each in _whole(seen, "on_tool_result"):
        results = each.results
        if len(results) != len(each.calls):
            continue
        for told, ran in zip(results, each.executions, strict=True):
            if ran is not None and isinstance(ran.gave, str) and "error" not in told:
                claim = f"the result of {told['name']}"
                place = each.entries[-1].place
                yield DialectDecision(claim, ran.gave, told["text"], place)


def one_after_the_other(seen: LoopView) -> Decisions:
    """LOOP-028: a call is told before its result, and all text before any result."""
    for _, each in _whole(seen, "on_tool_result", "on_tool_call"):
        results = each.told("on_tool_result")
        if results:
            first = results[0].place
            early = each.told("on_chunk", "on_tool_call")
            got = [x.callback for x in early if x.place > first]
            claim = f"what is told behind the first result of round {each.number}"
            yield DialectDecision(claim, [], got, first)


def closed(seen: LoopView) -> Decisions:
    """LOOP-029: a stream that was read is closed, once, before the run ends."""
    for _, each in seen.rounds:
        if each.chunks:
            got = len(each.of("stream_close"))
            claim = f"the stream of round {each.number} is closed"
            yield DialectDecision(claim, 1, got, each.entries[-1].place)


CHECKS: Final = (
    DialectCheck(clause="LOOP-020", decide=chunks),
    DialectCheck(clause="LOOP-021", decide=calls),
    DialectCheck(clause="LOOP-022", decide=calls_in_time),
    DialectCheck(clause="LOOP-023", decide=tools_after_stream),
    DialectCheck(clause="LOOP-024", decide=concurrent),
    DialectCheck(clause="LOOP-025", decide=executed),
    DialectCheck(clause="LOOP-026", decide=results_in_order),
    DialectCheck(clause="LOOP-027", decide=texts_of_results),
    DialectCheck(clause="LOOP-028", decide=one_after_the_other),
    DialectCheck(clause="LOOP-029", decide=closed),
)
"""Clauses about what one round streams and executes."""
